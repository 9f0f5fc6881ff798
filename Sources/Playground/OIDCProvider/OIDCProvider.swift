/// The OpenID provider under `/oidc`: its state and its routes.
struct OIDCProvider: Sendable {
  /// Who answers there.
  let routes: [Route]

  /// A provider with the given issuer identifier, whose path is `/oidc`.
  init(
    issuer: String,
    clients: [PlaygroundClient],
    keys: SigningKeys,
    tokens: AccessTokens,
    defaultAudience: String,
    faults: Faults,
    statistics: Statistics
  ) {
    let authentication = ClientAuthentication(clients: clients)
    let metadata = MetadataEndpoint(issuer: issuer, faults: faults, statistics: statistics)
    let token = TokenEndpoint(
      authentication: authentication,
      tokens: tokens,
      faults: faults,
      statistics: statistics,
      defaultAudience: defaultAudience
    )
    let introspection = IntrospectionEndpoint(authentication: authentication, tokens: tokens, statistics: statistics)
    let revocation = RevocationEndpoint(authentication: authentication, tokens: tokens, statistics: statistics)
    routes = [
      Route(["GET"], "/oidc/.well-known/openid-configuration", metadata),
      Route(["GET"], "/.well-known/openid-configuration/oidc", metadata),
      Route(["GET"], "/.well-known/oauth-authorization-server/oidc", metadata),
      Route(["GET"], "/oidc/jwks", KeySetEndpoint(keys: keys, faults: faults, statistics: statistics)),
      Route(["POST"], "/oidc/token", token),
      Route(["POST"], "/oidc/introspect", introspection),
      Route(["POST"], "/oidc/revoke", revocation),
    ]
  }
}
