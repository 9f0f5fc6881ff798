/// The rules for URLs of each use; those that are not followed are thrown.
package enum URLRules {
  /// An https URL without user information and fragment, or one that `plainHTTP` permits.
  package static func web(_ text: String, plainHTTP: PlainHTTPPermission) throws(ValueProblem) -> URLText {
    let url = try URLText(text)
    switch url.scheme {
    case "https":
      break
    case "http" where plainHTTP.permits(url):
      break
    case "http" where url.isLoopback:
      throw ValueProblem("plain http needs development.plainHTTPOnLoopback: true")
    case "http":
      throw ValueProblem(
        "must begin with https:// (http is for origins in outbound.plainHTTP, and for 127.0.0.0/8 and [::1] in development)"
      )
    default:
      throw ValueProblem("must begin with https://")
    }
    guard !url.hasUserInfo else { throw ValueProblem("a URL must not hold a user name or password") }
    guard !url.hasFragment else { throw ValueProblem("this URL must not have a fragment (#…)") }
    return url
  }

  /// An issuer identifier has no query.
  @Sendable package static func issuerIdentifier(_ url: URLText) throws(ValueProblem) {
    guard url.query == nil else { throw ValueProblem("an issuer identifier has no query (RFC 8414 section 2)") }
  }

  /// A URL that others are built from.
  @Sendable package static func base(_ url: URLText) throws(ValueProblem) {
    guard url.query == nil else { throw ValueProblem("a base URL has no query") }
  }

  /// Scheme, host and port.
  @Sendable package static func origin(_ url: URLText) throws(ValueProblem) {
    guard url.path.isEmpty, url.query == nil else {
      throw ValueProblem("must be an origin without a path, as in https://host or https://host:8443")
    }
  }

  /// An origin, or an origin with a path that ends in `/`.
  @Sendable static func originOrPrefix(_ url: URLText) throws(ValueProblem) {
    guard url.query == nil, url.path.isEmpty || url.path.hasSuffix("/") else {
      throw ValueProblem("must be an origin, or one with a path that ends in /: https://host or https://host/prefix/")
    }
  }

  /// An origin that is reached without TLS.
  static func plainHTTPOrigin(_ text: String) throws(ValueProblem) -> URLText {
    let url = try URLText(text)
    guard url.scheme == "http" else { throw ValueProblem("must begin with http://: https needs no entry") }
    guard !url.hasUserInfo, !url.hasFragment else { throw ValueProblem("no user name and no fragment in this URL") }
    guard url.path.isEmpty, url.query == nil else {
      throw ValueProblem("must be an origin without a path, as in http://host:8080")
    }
    return url
  }

  /// Where spans go: https, or http on a loopback address.
  package static func collector(_ text: String) throws(ValueProblem) -> URLText {
    let url = try URLText(text)
    guard url.scheme == "https" || url.scheme == "http" && url.isLoopback else {
      throw ValueProblem("must begin with https://, or with http:// on a loopback address")
    }
    guard !url.hasUserInfo, !url.hasFragment else { throw ValueProblem("no user name and no fragment in this URL") }
    return url
  }

  /// A redirection endpoint.
  package static func redirect(_ text: String) throws(ValueProblem) {
    if let scheme = text.split(separator: ":", maxSplits: 1).first, scheme.contains("."), !scheme.contains("/") {
      guard !text.contains("#") else { throw ValueProblem("a redirect URI has no fragment (RFC 6749 section 3.1.2)") }
      return
    }
    let url = try URLText(text)
    guard !url.hasUserInfo, !url.hasFragment else {
      throw ValueProblem("a redirect URI has no fragment (RFC 6749 section 3.1.2) and no user name")
    }
    guard url.scheme == "https" || url.scheme == "http" && (url.isLoopback || url.host.lowercased() == "localhost")
    else {
      throw ValueProblem("must begin with https://, with http:// on a loopback address, or with a private-use scheme")
    }
  }

  /// A Redis server. Returns its port; nil for a socket's path.
  package static func redis(_ text: String) throws(ValueProblem) -> UInt16? {
    if text.lowercased().hasPrefix("unix://") {
      try redisSocket(text)
      return nil
    }
    let url = try URLText(text)
    guard url.scheme == "rediss" || url.scheme == "redis" else {
      throw ValueProblem("must begin with rediss://, redis:// or unix://")
    }
    guard !url.hasUserInfo else { throw ValueProblem("no password in the URL: use passwordFile or passwordEnv") }
    let database = url.path.dropFirst()
    guard url.query == nil, !url.hasFragment, database.isEmpty || Int(database).map((0...9999).contains) == true
    else {
      throw ValueProblem("only a database number may follow the host, as in rediss://cache:6379/0")
    }
    return url.port ?? 6379
  }

  /// `unix:///path`, with `?db=` and a number or without.
  private static func redisSocket(_ text: String) throws(ValueProblem) {
    let parts = text.dropFirst("unix://".count).split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    let path = parts.first ?? ""
    let database = parts.count == 1 ? "db=0" : parts[1]
    guard path.hasPrefix("/"), path.utf8.count < 108, !path.contains("#"), database.hasPrefix("db="),
      Int(database.dropFirst(3)).map((0...9999).contains) == true
    else {
      throw ValueProblem("must be a socket's path and a database number, as in unix:///run/redis/redis.sock?db=0")
    }
  }
}

/// The URLs that may begin with `http://`: known before any of them is read.
package struct PlainHTTPPermission: Sendable {
  /// Whether loopback addresses may (`development.plainHTTPOnLoopback`).
  private let onLoopback: Bool
  /// The origins that may (`outbound.plainHTTP`), as `host:port` in lower case.
  private let origins: Set<String>

  /// No URL.
  package static let none = PlainHTTPPermission(onLoopback: false, origins: [])

  /// Loopback addresses, and these origins; what is no origin permits nothing.
  package init(onLoopback: Bool, origins: [String]) {
    self.onLoopback = onLoopback
    self.origins = Set(origins.compactMap { (try? URLRules.plainHTTPOrigin($0)).map(Self.key) })
  }

  /// Whether `url`, which begins with `http://`, is one of them.
  func permits(_ url: URLText) -> Bool { onLoopback && url.isLoopback || origins.contains(Self.key(url)) }

  private static func key(_ url: URLText) -> String { "\(url.host.lowercased()):\(url.webPort)" }
}
