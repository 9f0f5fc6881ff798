import PosternJSON

extension ValueForm where Value == String {
  /// An issuer identifier: no query, no fragment (RFC 8414 section 2, OpenID Connect Discovery 1.0 section 3).
  ///
  /// The issuer of all tenants of Entra has `{tenantid}` where a token has its own.
  package static var issuerIdentifier: Self {
    text(schema: { webSchema }) { text, context throws(ValueProblem) in
      let url = try URLRules.web(text.replacing("{tenantid}", with: "tenantid"), plainHTTP: context.plainHTTP)
      try URLRules.issuerIdentifier(url)
      context.note(port: url.webPort)
      return text
    }
  }

  /// A URL that others are built from: no query, no fragment.
  package static var baseURL: Self { web(URLRules.base) }

  /// The URL of an endpoint.
  package static var endpoint: Self { web { _ in } }

  /// Scheme, host and port (RFC 6454).
  package static var origin: Self { web(URLRules.origin) }

  /// An origin, or an origin with a path that ends in `/`.
  static var originOrPrefix: Self { web(URLRules.originOrPrefix) }

  /// A redirection endpoint: https, http on loopback (RFC 8252 section 7.3), or a private-use scheme (section 7.1). No
  /// fragment (RFC 6749 section 3.1.2).
  package static var redirectURI: Self {
    text(schema: { ["type": "string", "format": "uri"] }) { text, _ throws(ValueProblem) in
      try URLRules.redirect(text)
      return text
    }
  }

  /// A Redis server: `rediss://host:port/database`, or `redis://` without TLS, or `unix://` and a path.
  static var redisURL: Self {
    text(schema: { ["type": "string", "pattern": "^(rediss?|unix)://"] }) { text, context throws(ValueProblem) in
      if let port = try URLRules.redis(text) { context.note(port: port) }
      return text
    }
  }

  /// Where spans go: https, or http on a loopback address, for nothing secret of an issuer's or a user's goes there.
  package static var collector: Self {
    text(schema: { webSchema }) { text, context throws(ValueProblem) in
      context.note(port: try URLRules.collector(text).webPort)
      return text
    }
  }

  /// An https URL without user information and fragment; http on loopback where the configuration allows it.
  private static func web(_ judge: @escaping @Sendable (URLText) throws(ValueProblem) -> Void) -> Self {
    text(schema: { webSchema }) { text, context throws(ValueProblem) in
      let url = try URLRules.web(text, plainHTTP: context.plainHTTP)
      try judge(url)
      context.note(port: url.webPort)
      return text
    }
  }

  private static var webSchema: JSONObject { ["type": "string", "format": "uri", "pattern": "^https?://"] }
}
