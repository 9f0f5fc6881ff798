import Support

/// Puts the parts together: each part is a folder of endpoints, and here is where it gets its place.
enum PlaygroundRoutes {
  /// The router of a playground at `baseURL`.
  static func router(
    baseURL: String,
    configuration: PlaygroundConfiguration,
    keys: SigningKeys,
    statistics: Statistics,
    clock: any EngineClock
  ) -> Router {
    let issuer = baseURL + "/oidc"
    let resource = baseURL + "/resource"
    let faults = Faults(clock: clock)
    let tokens = AccessTokens(
      issuer: issuer,
      keys: keys,
      lifetime: configuration.accessTokenLifetime,
      clock: clock
    )
    let provider = OIDCProvider(
      issuer: issuer,
      clients: configuration.clients,
      keys: keys,
      tokens: tokens,
      defaultAudience: resource,
      faults: faults,
      statistics: statistics
    )
    let resources = ResourceServer(
      tokens: tokens,
      audiences: [resource, resource + "/", baseURL, baseURL + "/"],
      faults: faults,
      statistics: statistics,
      clock: clock
    )
    let control = [
      Route(["GET", "DELETE"], "/playground/statistics", StatisticsEndpoint(statistics: statistics)),
      Route(["GET", "POST", "DELETE"], "/playground/faults", FaultsEndpoint(faults: faults, tokens: tokens)),
      Route(["POST"], "/playground/rotateKeys", KeyRotationEndpoint(keys: keys)),
    ]
    return Router(provider.routes + resources.routes + control)
  }
}
