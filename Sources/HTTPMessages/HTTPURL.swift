public import PosternSupport

/// An absolute `http` or `https` URL, parsed strictly (RFC 3986) and normalised, so that equivalent URLs compare equal.
///
/// Normalised: scheme and host lower case, default port dropped, dot segments removed (`%2e` counts as a dot), an empty
/// path is `/`, unreserved characters are never percent-encoded, hex digits upper case, brackets, `{}|^"<>` and the
/// backtick in path and query percent-encoded (they are common, though RFC 3986 does not allow them), IPv6
/// addresses as in RFC 5952, fragments dropped. An encoded slash stays encoded: it never becomes a separator.
///
/// Not accepted: user information, control characters, spaces, backslashes, raw non-ASCII and other characters that
/// must be percent-encoded, ports outside 1…65535, empty hosts, hosts with a trailing dot or an empty label, numeric
/// hosts that are not canonical dotted-quad IPv4 (`0x7f.1`, `2130706433`), IPv6 zone identifiers.
public struct HTTPURL: Sendable, Hashable {
  /// The longest URL in bytes.
  public static let maxBytes = 65_536

  /// An origin: scheme, host and effective port (RFC 6454).
  public struct Origin: Sendable, Hashable, ConciseStringConvertible {
    /// The three parts, and the facts derived from them once: each request needs them several times.
    private final class Contents: Sendable {
      let scheme: String
      let host: String
      let port: Int
      let description: String
      let isLoopbackAddress: Bool
      let isLinkLocalAddress: Bool
      /// The hash of the three parts; equal origins have the same.
      let hash: Int

      init(scheme: String, host: String, port: Int) {
        self.scheme = scheme
        self.host = host
        self.port = port
        description = port == HTTPURL.defaultPort(of: scheme) ? "\(scheme)://\(host)" : "\(scheme)://\(host):\(port)"
        let address = IPAddress(host: host)
        isLoopbackAddress = HTTPHost.isLoopbackAddress(host)
        isLinkLocalAddress = address?.isLinkLocal ?? false
        var hasher = Hasher()
        hasher.combine(port)
        hasher.combine(host)
        hasher.combine(scheme)
        hash = hasher.finalize()
      }
    }

    private let contents: Contents

    /// `http` or `https`.
    public var scheme: String { contents.scheme }
    /// Lower-case host name, dotted-quad IPv4, or IPv6 in brackets in canonical form (RFC 5952).
    public var host: String { contents.host }
    /// The effective port.
    public var port: Int { contents.port }

    /// `https://host` or `https://host:8443`.
    public var description: String { contents.description }

    /// Whether the host is a loopback address: 127.0.0.0/8 or `[::1]`. A name never is, `localhost` included, because
    /// it may resolve to another address.
    public var isLoopbackAddress: Bool { contents.isLoopbackAddress }

    /// Whether the host is an address, not a name, and link-local in the sense of `IPAddress`.
    public var isLinkLocalAddress: Bool { contents.isLinkLocalAddress }

    init(scheme: String, host: String, port: Int) {
      contents = Contents(scheme: scheme, host: host, port: port)
    }

    /// Whether both have the same scheme, host and port.
    public static func == (left: Origin, right: Origin) -> Bool {
      left.contents === right.contents
        || left.port == right.port && left.host == right.host && left.scheme == right.scheme
    }

    /// Hashes the three parts.
    public func hash(into hasher: inout Hasher) { hasher.combine(contents.hash) }
  }

  /// Scheme, host and port.
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

  /// The URL without its query, for logs and error messages.
  public var withoutQuery: HTTPURL { HTTPURL(origin: origin, path: path, query: nil) }
}

extension HTTPURL: ConciseStringConvertible {
  /// The URL as text.
  public var description: String {
    guard let query else { return origin.description + path }
    return "\(origin)\(path)?\(query)"
  }
}

/// The reason why a text is not an acceptable URL. Never quotes the text, which may contain secrets.
public struct HTTPURLError: Error, Sendable, Hashable, ConciseStringConvertible {
  /// The rule that was broken.
  public enum Reason: String, Sendable, Hashable, CaseIterable {
    /// Longer than `HTTPURL.maxBytes`.
    case tooLong
    /// No scheme at its beginning.
    case notAbsolute
    /// A scheme other than `http` and `https`.
    case unsupportedScheme
    /// No `//` behind the scheme.
    case missingAuthority
    /// `user@` or `user:password@` before the host.
    case userInformation
    /// No host.
    case emptyHost
    /// A host that is neither a name of letters, digits, `-`, `_` and single inner dots nor a canonical address.
    case invalidHost
    /// A port that is no number from 1 to 65535.
    case invalidPort
    /// A space or a control character.
    case controlCharacter
    /// A backslash.
    case backslash
    /// A byte beyond ASCII.
    case notASCII
    /// A character that has no place there, such as a query in an issuer's URL.
    case forbiddenCharacter
    /// `%` without two hexadecimal digits behind it.
    case invalidPercentEncoding
  }

  /// The rule that was broken.
  public let reason: Reason

  /// An error of that reason.
  public init(_ reason: Reason) { self.reason = reason }

  /// `invalid_url: the URL has no host`.
  public var description: String { "invalid_url: the URL \(phrase)" }

  /// A phrase for people, to be put behind "the URL".
  public var phrase: String {
    switch reason {
    case .tooLong: "is longer than \(HTTPURL.maxBytes) bytes"
    case .notAbsolute: "is not absolute"
    case .unsupportedScheme: "has a scheme other than http and https"
    case .missingAuthority: "lacks // behind its scheme"
    case .userInformation: "holds user information"
    case .emptyHost: "has no host"
    case .invalidHost: "has an invalid host (names in ASCII or punycode, addresses in canonical form, no trailing dot)"
    case .invalidPort: "has an invalid port"
    case .controlCharacter: "holds a space or a control character"
    case .backslash: "holds a backslash"
    case .notASCII: "holds a character beyond ASCII that is not percent-encoded"
    case .forbiddenCharacter: "holds a character that must be percent-encoded"
    case .invalidPercentEncoding: "holds a % that is not followed by two hexadecimal digits"
    }
  }
}

extension HTTPURL: CustomDebugStringConvertible {
  private static let shownScalars = 160

  /// The URL without its query, which may have secrets: what `dump` and `String(reflecting:)` show.
  public var debugDescription: String { shown }

  /// The URL with `?…` for its query, for descriptions; cut when it is long.
  package var shown: String {
    let text = Concise.name("\(withoutQuery)", maxScalars: Self.shownScalars)
    return query == nil ? text : "\(text)?…"
  }
}
