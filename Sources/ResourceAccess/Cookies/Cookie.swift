import HTTPMessages
import PosternSupport

/// A cookie as it is kept (RFC 6265 section 5.3).
struct Cookie {
  /// The longest that a cookie lives (RFC 6265bis section 5.5).
  static let maxAge = Duration.seconds(400 * 86_400)

  let name: String
  let value: String
  let domain: String
  let isHostOnly: Bool
  let path: String
  let isSecure: Bool
  /// Nil: as long as its jar.
  let expiry: Timestamp?

  /// The cookie that `line` of a response from `url` sets; nil when it must not be kept.
  ///
  /// `Domain` is taken only where it names one of `hosts`, the resource's own: so no public suffix list is needed, and
  /// no cookie is sent to a host that the configuration does not name. `SameSite` and `HttpOnly` mean nothing to a
  /// program.
  init?(_ line: CookieLine, from url: HTTPURL, hosts: Set<String>, now: Timestamp) {
    let host = url.origin.host
    let isSecureOrigin = url.origin.scheme == "https"
    let named = line.attributes["domain"] ?? ""
    let given = Substring(named.utf8.first == UInt8(ascii: ".") ? named.utf8.dropFirst() : named.utf8[...])
      .lowercasedASCII()
    if given.isEmpty || given == host {
      domain = host
      isHostOnly = given.isEmpty || Self.isAddress(host)
    } else {
      guard hosts.contains(given), Self.domainMatches(host, given) else { return nil }
      domain = given
      isHostOnly = false
    }
    isSecure = line.attributes["secure"] != nil
    guard !isSecure || isSecureOrigin else { return nil }
    let path = line.attributes["path"].flatMap { $0.utf8.first == UInt8(ascii: "/") ? $0 : nil }
    self.path = path ?? Self.defaultPath(of: url.path)
    // RFC 6265bis section 4.1.3, compared without case: some servers do.
    let prefix = line.name.lowercasedASCII()
    if prefix.startsWithBytes(of: "__secure-") || prefix.startsWithBytes(of: "__host-") {
      guard isSecure else { return nil }
    }
    if prefix.startsWithBytes(of: "__host-") {
      guard line.attributes["domain"] == nil, path == "/" else { return nil }
    }
    name = line.name
    value = line.value
    expiry = Self.expiry(line, now)
  }

  /// Its size in its jar.
  var byteCount: Int { name.utf8.count + value.utf8.count + domain.utf8.count + path.utf8.count }

  /// Whether it is sent with a request to `url` (RFC 6265 section 5.4).
  func goes(to url: HTTPURL) -> Bool {
    guard !isSecure || url.origin.scheme == "https" else { return false }
    guard isHostOnly ? url.origin.host == domain : Self.domainMatches(url.origin.host, domain) else { return false }
    return Self.pathMatches(url.path, path)
  }

  /// Whether it replaces `other`.
  func replaces(_ other: Cookie) -> Bool {
    name.hasSameBytes(as: other.name) && domain == other.domain && isHostOnly == other.isHostOnly && path == other.path
  }

  /// Whether `host` is `domain` or lies below it, at a dot (RFC 6265 section 5.1.3).
  static func domainMatches(_ host: String, _ domain: String) -> Bool {
    host == domain || (host.endsWithBytes(of: "." + domain) && !isAddress(host))
  }

  /// RFC 6265 section 5.1.4.
  static func pathMatches(_ path: String, _ cookiePath: String) -> Bool {
    guard path.utf8.starts(with: cookiePath.utf8) else { return false }
    return path.utf8.count == cookiePath.utf8.count || cookiePath.utf8.last == UInt8(ascii: "/")
      || Array(path.utf8)[cookiePath.utf8.count] == UInt8(ascii: "/")
  }

  /// The folder of `path` (RFC 6265 section 5.1.4).
  static func defaultPath(of path: String) -> String {
    guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")), slash != path.startIndex else { return "/" }
    return String(path[..<slash])
  }

  private static func isAddress(_ host: String) -> Bool {
    host.utf8.first == UInt8(ascii: "[")
      || host.utf8.allSatisfy { (0x30...0x39).contains($0) || $0 == UInt8(ascii: ".") }
  }

  /// `Max-Age` takes precedence over `Expires`; one that is malformed is ignored.
  private static func expiry(_ line: CookieLine, _ now: Timestamp) -> Timestamp? {
    let latest = now + maxAge
    if let text = line.attributes["max-age"], let seconds = maxAgeSeconds(text) {
      return seconds <= 0 ? Timestamp(millisecondsSinceEpoch: .min) : min(now + .seconds(seconds), latest)
    }
    return line.attributes["expires"].flatMap(CookieDate.parse).map { min($0, latest) }
  }

  private static func maxAgeSeconds(_ text: String) -> Int64? {
    let isNegative = text.utf8.first == UInt8(ascii: "-")
    let digits = isNegative ? text.utf8.dropFirst() : text.utf8[...]
    guard !digits.isEmpty, digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
    return isNegative ? 0 : min(Int64(Substring(digits)) ?? .max, 1 << 40)
  }
}
