/// The OpenID provider under `/oidc`: its routes.
struct OIDCProvider: Sendable {
  /// Its endpoints with their paths.
  let routes: [Route]

  /// A provider made of `parts`, whose access tokens are usually meant for `defaultAudience`.
  init(_ parts: ProviderParts, defaultAudience: String) {
    let metadata = MetadataEndpoint(issuer: parts.issuer, faults: parts.faults, statistics: parts.statistics)
    let authentication = ClientAuthentication(clients: parts.clients, assertions: parts.assertions)
    routes =
      [
        Route(["GET"], "/oidc/.well-known/openid-configuration", metadata),
        Route(["GET"], "/.well-known/openid-configuration/oidc", metadata),
        Route(["GET"], "/.well-known/oauth-authorization-server/oidc", metadata),
        Route(
          ["GET"], "/oidc/jwks", KeySetEndpoint(keys: parts.keys, faults: parts.faults, statistics: parts.statistics)),
      ] + Self.authorizationRoutes(parts, authentication)
      + Self.tokenRoutes(parts, authentication, defaultAudience)
  }

  /// The pages for users, and the endpoints that lead to them.
  private static func authorizationRoutes(_ parts: ProviderParts, _ authentication: ClientAuthentication) -> [Route] {
    let requests = AuthorizationRequests(clients: parts.clients, idTokens: parts.idTokens)
    let pushed = PushedRequests(clock: parts.clock)
    let flow = AuthorizationFlow(
      issuer: parts.issuer, desk: parts.desk, codes: parts.codes, idTokens: parts.idTokens, faults: parts.faults,
      clock: parts.clock, pending: ExpiringStore(clock: parts.clock))
    let authorization = AuthorizationEndpoint(
      requests: requests, pushed: pushed, flow: flow, faults: parts.faults, statistics: parts.statistics)
    let push = PushedAuthorizationEndpoint(
      authentication: authentication, dpop: parts.providerDPoP, requests: requests, pushed: pushed,
      faults: parts.faults, statistics: parts.statistics)
    let device = DeviceAuthorizationEndpoint(
      issuer: parts.issuer, authentication: authentication, codes: parts.deviceCodes, faults: parts.faults,
      statistics: parts.statistics)
    let logout = LogoutEndpoint(
      clients: parts.clients, idTokens: parts.idTokens, sessions: parts.sessions, families: parts.families,
      faults: parts.faults, statistics: parts.statistics)
    return [
      Route(["GET", "POST"], "/oidc/authorize", authorization),
      Route(["POST"], "/oidc/login", LoginEndpoint(flow: flow)),
      Route(["POST"], "/oidc/par", push),
      Route(["POST"], "/oidc/device_authorization", device),
      Route(["GET", "POST"], "/oidc/device", DevicePageEndpoint(codes: parts.deviceCodes, desk: parts.desk)),
      Route(["GET", "POST"], "/oidc/logout", logout),
    ]
  }

  /// The endpoints for clients and resource servers.
  private static func tokenRoutes(
    _ parts: ProviderParts, _ authentication: ClientAuthentication, _ defaultAudience: String
  ) -> [Route] {
    let token = TokenEndpoint(
      authentication: authentication, dpop: parts.providerDPoP, grants: grants(parts, defaultAudience),
      faults: parts.faults, statistics: parts.statistics)
    let introspection = IntrospectionEndpoint(
      issuer: parts.issuer, authentication: authentication, tokens: parts.accessTokens, families: parts.families,
      keys: parts.keys, faults: parts.faults, statistics: parts.statistics, clock: parts.clock)
    let revocation = RevocationEndpoint(
      authentication: authentication, tokens: parts.accessTokens, families: parts.families, faults: parts.faults,
      statistics: parts.statistics)
    let userinfo = UserInfoEndpoint(
      check: BearerTokenCheck(tokens: parts.accessTokens, audiences: nil, dpop: parts.providerDPoP),
      faults: parts.faults, statistics: parts.statistics)
    return [
      Route(["POST"], "/oidc/token", token),
      Route(["POST"], "/oidc/introspect", introspection),
      Route(["POST"], "/oidc/revoke", revocation),
      Route(["GET", "POST"], "/oidc/userinfo", userinfo),
    ]
  }

  private static func grants(
    _ parts: ProviderParts, _ defaultAudience: String
  ) -> [PlaygroundClient.Grant: any GrantHandler] {
    let issuer = TokenIssuer(
      accessTokens: parts.accessTokens, idTokens: parts.idTokens, families: parts.families,
      defaultAudience: defaultAudience)
    return [
      .authorizationCode: AuthorizationCodeGrant(codes: parts.codes, issuer: issuer),
      .refreshToken: RefreshTokenGrant(families: parts.families, issuer: issuer, statistics: parts.statistics),
      .clientCredentials: ClientCredentialsGrant(issuer: issuer),
      .deviceCode: DeviceCodeGrant(codes: parts.deviceCodes, issuer: issuer),
      .tokenExchange: TokenExchangeGrant(
        accessTokens: parts.accessTokens, idTokens: parts.idTokens, families: parts.families,
        assertions: parts.assertions, issuer: issuer),
      .jwtBearer: JWTBearerGrant(assertions: parts.assertions, issuer: issuer),
    ]
  }
}
