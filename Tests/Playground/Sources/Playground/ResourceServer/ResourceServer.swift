import PosternSupport

/// The resource server: the same endpoints behind the token check under `/resource` and without it under `/open`.
struct ResourceServer: Sendable {
  /// Its endpoints with their paths.
  let routes: [Route]

  /// A resource server that trusts `tokens` meant for one of `audiences`.
  init(
    tokens: AccessTokens,
    audiences: Set<String>,
    dpop: DPoPCheck,
    payloads: PayloadSettings,
    faults: Faults,
    statistics: Statistics,
    clock: any EngineClock
  ) {
    let check = BearerTokenCheck(tokens: tokens, audiences: audiences, dpop: dpop)
    func guarded(
      _ inner: any Endpoint, scope: String? = nil, requirement: AuthenticationRequirement? = nil
    ) -> any Endpoint {
      BearerProtected(
        inner: inner, check: check, scope: scope, requirement: requirement, faults: faults, statistics: statistics)
    }
    let requirement = AuthenticationRequirement(clock: clock)
    let shared: [(methods: [String]?, path: String, endpoint: any Endpoint)] = [
      (nil, "/echo/**", EchoEndpoint()),
      (nil, "/jose/echo/**", EncryptedEchoEndpoint(settings: payloads)),
      (nil, "/cookies/**", SetCookieEndpoint()),
      (nil, "/status/{n}", StatusEndpoint()),
      (nil, "/redirect", RedirectEndpoint()),
      (nil, "/redirects/{n}", RedirectChainEndpoint()),
      (nil, "/slow", SlowEndpoint(clock: clock)),
      (["GET"], "/bytes/{n}", BytesEndpoint()),
      (["GET"], "/gzip", GzipEndpoint()),
      (["GET"], "/binary", BinaryEndpoint()),
      (["GET"], "/headers", HeadersEndpoint()),
      (["GET"], "/text", TextEndpoint()),
    ]
    routes =
      [
        Route(["GET"], "/resource/orders", guarded(OrdersEndpoint(), scope: "orders")),
        Route(["GET"], "/resource/vault", guarded(VaultEndpoint(), requirement: requirement)),
        Route(["POST"], "/resource/transfers", guarded(EchoEndpoint(), requirement: requirement)),
      ]
      + shared.map { Route($0.methods, "/resource" + $0.path, guarded($0.endpoint)) }
      + shared.map { Route($0.methods, "/open" + $0.path, OpenToAll(inner: $0.endpoint, statistics: statistics)) }
  }
}
