import PosternJSON

extension ValueForm where Value == String {
  /// An issuer identifier: no query, no fragment (RFC 8414 section 2, OpenID Connect Discovery 1.0 section 3).
  static var issuerIdentifier: Self {
    web { url throws(ValueProblem) in
      guard url.query == nil else { throw ValueProblem("an issuer identifier has no query (RFC 8414 section 2)") }
    }
  }

  /// A URL that others are built from: no query, no fragment.
  static var baseURL: Self {
    web { url throws(ValueProblem) in
      guard url.query == nil else { throw ValueProblem("a base URL has no query") }
    }
  }

  /// The URL of an endpoint.
  static var endpoint: Self { web { _ in } }

  /// Scheme, host and port (RFC 6454).
  static var origin: Self {
    web { url throws(ValueProblem) in
      guard url.path.isEmpty, url.query == nil else {
        throw ValueProblem("must be an origin without a path, as in https://host or https://host:8443")
      }
    }
  }

  /// An origin, or an origin with a path that ends in `/`.
  static var originOrPrefix: Self {
    web { url throws(ValueProblem) in
      guard url.query == nil, url.path.isEmpty || url.path.hasSuffix("/") else {
        throw ValueProblem("must be an origin, or one with a path that ends in /: https://host or https://host/prefix/")
      }
    }
  }

  /// A redirection endpoint: https, http on loopback (RFC 8252 section 7.3), or a private-use scheme (section 7.1). No
  /// fragment (RFC 6749 section 3.1.2).
  static var redirectURI: Self {
    var form = text
    form.schema = ["type": "string", "format": "uri"]
    form.parse = { scalar, context throws(ValueProblem) in
      let text = try line(scalar, context)
      if let scheme = text.split(separator: ":", maxSplits: 1).first, scheme.contains("."), !scheme.contains("/") {
        guard !text.contains("#") else { throw ValueProblem("a redirect URI has no fragment (RFC 6749 section 3.1.2)") }
        return text
      }
      let url = try URLText(text)
      guard !url.hasUserInfo, !url.hasFragment else {
        throw ValueProblem("a redirect URI has no fragment (RFC 6749 section 3.1.2) and no user name")
      }
      guard url.scheme == "https" || url.scheme == "http" && (url.isLoopback || url.host.lowercased() == "localhost")
      else {
        throw ValueProblem("must begin with https://, with http:// on a loopback address, or with a private-use scheme")
      }
      return text
    }
    return form
  }

  /// A Redis server: `rediss://host:port/database`, or `redis://` without TLS.
  static var redisURL: Self {
    var form = text
    form.schema = ["type": "string", "pattern": "^(rediss?|unix)://"]
    form.parse = { scalar, context throws(ValueProblem) in
      let text = try line(scalar, context)
      if text.lowercased().hasPrefix("unix://") { return try redisSocket(text) }
      let url = try URLText(text)
      guard url.scheme == "rediss" || url.scheme == "redis" else {
        throw ValueProblem("must begin with rediss://, redis:// or unix://")
      }
      guard !url.hasUserInfo else { throw ValueProblem("no password in the URL: use passwordFile or passwordEnv") }
      context.note(port: url.port ?? 6379)
      let database = url.path.dropFirst()
      guard url.query == nil, !url.hasFragment, database.isEmpty || Int(database).map((0...9999).contains) == true
      else {
        throw ValueProblem("only a database number may follow the host, as in rediss://cache:6379/0")
      }
      return text
    }
    return form
  }

  /// `unix:///path`, with `?db=` and a number or without.
  private static func redisSocket(_ text: String) throws(ValueProblem) -> String {
    let parts = text.dropFirst("unix://".count).split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    let path = parts.first ?? ""
    let database = parts.count == 1 ? "db=0" : parts[1]
    guard path.hasPrefix("/"), path.utf8.count < 108, !path.contains("#"), database.hasPrefix("db="),
      Int(database.dropFirst(3)).map((0...9999).contains) == true
    else {
      throw ValueProblem("must be a socket's path and a database number, as in unix:///run/redis/redis.sock?db=0")
    }
    return text
  }

  /// Where spans go: https, or http on a loopback address, for nothing secret of an issuer's or a user's goes there.
  static var collector: Self {
    var form = text
    form.schema = ["type": "string", "format": "uri", "pattern": "^https?://"]
    form.parse = { scalar, context throws(ValueProblem) in
      let text = try line(scalar, context)
      let url = try URLText(text)
      guard url.scheme == "https" || url.scheme == "http" && url.isLoopback else {
        throw ValueProblem("must begin with https://, or with http:// on a loopback address")
      }
      guard !url.hasUserInfo, !url.hasFragment else { throw ValueProblem("no user name and no fragment in this URL") }
      context.note(port: url.port ?? (url.scheme == "https" ? 443 : 80))
      return text
    }
    return form
  }

  /// An https URL without user information and fragment; http on loopback where the configuration allows it.
  private static func web(_ judge: @escaping @Sendable (URLText) throws(ValueProblem) -> Void) -> Self {
    var form = text
    form.schema = ["type": "string", "format": "uri", "pattern": "^https?://"]
    form.parse = { scalar, context throws(ValueProblem) in
      let text = try line(scalar, context)
      let url = try URLText(text)
      switch url.scheme {
      case "https":
        break
      case "http" where url.isLoopback && context.allowsPlainHTTPOnLoopback:
        break
      case "http" where url.isLoopback:
        throw ValueProblem("plain http needs development.plainHTTPOnLoopback: true")
      case "http":
        throw ValueProblem("must begin with https:// (http is for 127.0.0.0/8 and [::1] only, and only in development)")
      default:
        throw ValueProblem("must begin with https://")
      }
      guard !url.hasUserInfo else { throw ValueProblem("a URL must not hold a user name or password") }
      guard !url.hasFragment else { throw ValueProblem("this URL must not have a fragment (#…)") }
      try judge(url)
      context.note(port: url.port ?? (url.scheme == "https" ? 443 : 80))
      return text
    }
    return form
  }
}
