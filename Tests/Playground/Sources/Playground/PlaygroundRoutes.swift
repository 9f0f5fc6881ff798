import PosternSupport

/// Combines the parts: each part is a folder of endpoints, and is mounted here.
enum PlaygroundRoutes {
  /// The router of a playground at `baseURL`.
  static func router(
    baseURL: String,
    configuration: PlaygroundConfiguration,
    keys: SigningKeys,
    clientKey: ClientKey,
    clients: ClientDirectory,
    statistics: Statistics,
    clock: any EngineClock
  ) -> Router {
    let resource = baseURL + "/resource"
    let parts = ProviderParts(
      issuer: baseURL + "/oidc",
      configuration: configuration,
      keys: keys,
      clientKey: clientKey,
      clients: clients,
      statistics: statistics,
      clock: clock
    )
    let provider = OIDCProvider(parts, defaultAudience: resource)
    let resources = ResourceServer(
      tokens: parts.accessTokens,
      audiences: [resource, resource + "/", baseURL, baseURL + "/"],
      dpop: parts.resourceDPoP,
      payloads: parts.payloads,
      faults: parts.faults,
      statistics: statistics,
      clock: clock
    )
    return Router(
      provider.routes + AccessManager(parts).routes + AdobePass(parts).routes + resources.routes
        + ControlRoutes.routes(parts))
  }
}
