extension PlaygroundClient {
  /// The clients of a playground that is started without others: two without users, four with.
  public static let defaults = [
    PlaygroundClient(id: "svc", secret: "svcsecret"),
    // Its id and secret come out wrong unless they are form-encoded in HTTP Basic.
    PlaygroundClient(id: "odd:client+1", secret: "p@ss word/%&+é"),
    userClient(
      "shop", secret: "shopsecret", authentication: [.basic, .post],
      grants: [.authorizationCode, .refreshToken, .deviceCode, .tokenExchange, .jwtBearer, .clientCredentials]),
    userClient("cli", authentication: [.none], grants: [.authorizationCode, .refreshToken, .deviceCode]),
    userClient(
      "jwtclient", authentication: [.privateKeyJWT],
      grants: Set(Grant.allCases), algorithm: "ES256"),
    userClient(
      "dpopclient", authentication: [.none], grants: [.authorizationCode, .refreshToken, .deviceCode],
      algorithm: "EdDSA", requiresDPoP: true),
  ]

  /// The scopes of a client that acts for users.
  static let userScopes = ["openid", "profile", "email", "offline_access", "orders", "orders:write"]

  private static func userClient(
    _ id: String, secret: String = "", authentication: Set<Authentication>, grants: Set<Grant>,
    algorithm: String = "RS256", requiresDPoP: Bool = false
  ) -> PlaygroundClient {
    PlaygroundClient(
      id: id, secret: secret, scopes: userScopes, authentication: authentication, grants: grants,
      redirectURIs: ["http://127.0.0.1/callback", "http://[::1]/callback", "http://localhost/callback"],
      postLogoutRedirectURIs: ["http://127.0.0.1/signed-out", "http://localhost/signed-out"],
      idTokenAlgorithm: algorithm, requiresDPoP: requiresDPoP)
  }
}
