/// An absolute `http` or `https` URL, parsed strictly (RFC 3986) and normalised, so that two spellings of one place
/// compare equal.
///
/// Normalised: scheme and host lower case, default port dropped, dot segments removed (`%2e` counts as a dot), an empty
/// path is `/`, unreserved characters are never percent-encoded, hex digits upper case, `[` and `]` in path and query
/// percent-encoded (everybody writes them, RFC 3986 does not allow them), IPv6 addresses as RFC 5952 writes them,
/// fragments dropped. An encoded slash stays what it is: it never becomes a separator.
///
/// Refused: user information, control characters, spaces, backslashes, raw non-ASCII and the other characters that must
/// be percent-encoded, ports outside 1…65535, empty hosts, hosts with a trailing dot or an empty label, numeric hosts
/// that are not canonical dotted-quad IPv4 (`0x7f.1`, `2130706433`), IPv6 zone identifiers.
public struct HTTPURL: Sendable, Hashable {
  /// The longest URL in bytes.
  public static let maxBytes = 65_536

  /// Scheme, host and effective port: what the web calls an origin (RFC 6454).
  public struct Origin: Sendable, Hashable, CustomStringConvertible {
    /// `http` or `https`.
    public let scheme: String
    /// Lower-case host name, dotted-quad IPv4, or IPv6 in brackets in canonical form (RFC 5952).
    public let host: String
    /// The effective port.
    public let port: Int

    /// `https://host` or `https://host:8443`.
    public var description: String {
      port == HTTPURL.defaultPort(of: scheme) ? "\(scheme)://\(host)" : "\(scheme)://\(host):\(port)"
    }

    /// Whether the host is a loopback address: 127.0.0.0/8 or `[::1]`. A name never is, `localhost` included:
    /// what a name resolves to is not known before it is resolved.
    public var isLoopbackAddress: Bool {
      host == "[::1]" || HTTPHost.dottedQuad(ArraySlice(host.utf8))?.first == 127
    }

    init(scheme: String, host: String, port: Int) {
      self.scheme = scheme
      self.host = host
      self.port = port
    }
  }

  /// Where it points.
  public let origin: Origin
  /// The path, percent-encoded, beginning with `/`, without dot segments.
  public let path: String
  /// The query without `?`, percent-encoded; nil when there is no `?`.
  public let query: String?

  init(origin: Origin, path: String, query: String?) {
    self.origin = origin
    self.path = path
    self.query = query
  }

  static func defaultPort(of scheme: String) -> Int { scheme == "https" ? 443 : 80 }

  /// The URL without its query: what logs and error texts may show.
  public var withoutQuery: HTTPURL { HTTPURL(origin: origin, path: path, query: nil) }
}

extension HTTPURL: CustomStringConvertible {
  /// The URL as text.
  public var description: String { "\(origin)\(path)\(query.map { "?\($0)" } ?? "")" }
}
