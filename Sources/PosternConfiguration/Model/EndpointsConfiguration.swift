import PosternJSON

/// An issuer's endpoints, where they go before the discovered ones (RFC 8414 section 2).
public struct EndpointsConfiguration: Sendable, Equatable {
  /// The token endpoint (RFC 6749 section 3.2).
  public var token: String?
  /// The authorization endpoint (RFC 6749 section 3.1).
  public var authorization: String?
  /// The key set (RFC 7517 section 5).
  public var jwks: String?
  /// The introspection endpoint (RFC 7662).
  public var introspection: String?
  /// The revocation endpoint (RFC 7009).
  public var revocation: String?
  /// The device authorization endpoint (RFC 8628).
  public var deviceAuthorization: String?
  /// The end-session endpoint (OpenID Connect RP-Initiated Logout 1.0).
  public var endSession: String?
}

extension EndpointsConfiguration: ConfigurationSection {
  init(reading keys: SectionReader) {
    func endpoint(_ name: String, _ documentation: String, _ path: String) -> String? {
      keys.optional(name, .endpoint, documentation, example: .shown(.string("https://idp.example.com/\(path)")))
    }
    token = endpoint("token", "Token endpoint (RFC 6749).", "token")
    authorization = endpoint("authorization", "Authorization endpoint (RFC 6749).", "authorize")
    jwks = endpoint("jwks", "Key set (RFC 7517).", "jwks")
    introspection = endpoint("introspection", "Introspection endpoint (RFC 7662).", "introspect")
    revocation = endpoint("revocation", "Revocation endpoint (RFC 7009).", "revoke")
    deviceAuthorization = endpoint("deviceAuthorization", "Device authorization endpoint (RFC 8628).", "device")
    endSession = endpoint("endSession", "End-session endpoint (OpenID Connect RP-Initiated Logout).", "logout")
  }
}
