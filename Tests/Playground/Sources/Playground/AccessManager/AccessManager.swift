/// The access manager under `/am`: its routes, and where it keeps who is signed on.
///
/// Written from the vendor's documentation (PingAM, ForgeRock AM), never compared with one. It lends its users to the
/// provider next to it: its codes are exchanged at the provider's token endpoint.
struct AccessManager: Sendable {
  /// Its endpoints with their paths.
  let routes: [Route]

  /// An access manager for the provider made of `parts`.
  init(_ parts: ProviderParts) {
    let sessions = SSOSessions(clock: parts.clock)
    let settings = AccessManagerSettings()
    let journeys = JourneyDesk(settings: settings, clock: parts.clock)
    let transactions = TransactionDesk(settings: settings, clock: parts.clock)
    let requests = AuthorizationRequests(clients: parts.clients, idTokens: parts.idTokens)
    let flow = AuthorizationFlow(
      issuer: parts.issuer, desk: parts.desk, codes: parts.codes, idTokens: parts.idTokens, faults: parts.faults,
      clock: parts.clock, pending: ExpiringStore(clock: parts.clock))
    let base = String(parts.issuer.dropLast("/oidc".count))
    let clientTrees = ClientTreeDesk(
      settings: settings, transactions: transactions, journeys: journeys, waiting: ExpiringStore(clock: parts.clock),
      base: base + "/am")
    let authorize = SSOAuthorizeEndpoint(
      sessions: sessions, requests: requests, flow: flow, clientTrees: clientTrees, faults: parts.faults,
      statistics: parts.statistics)
    let information = ServerInfoEndpoint(faults: parts.faults, statistics: parts.statistics)
    let logins = SSOSessionsEndpoint(sessions: sessions, faults: parts.faults, statistics: parts.statistics)
    let authenticate = AuthenticateEndpoint(
      sessions: sessions, journeys: journeys, transactions: transactions, settings: settings, desk: parts.desk,
      faults: parts.faults)
    let control = AccessManagerControlEndpoint(settings: settings, transactions: transactions, desk: journeys)
    let policies = PoliciesEndpoint(
      sessions: sessions, evaluation: PolicyEvaluation(journeys: journeys, transactions: transactions),
      settings: settings, faults: parts.faults, statistics: parts.statistics)
    let gateway = GatewayEndpoint(
      check: BearerTokenCheck(
        tokens: parts.accessTokens, audiences: [base + "/resource", base + "/resource/", base, base + "/"],
        dpop: parts.resourceDPoP),
      journeys: journeys, transactions: transactions, faults: parts.faults, statistics: parts.statistics,
      accessManagerURL: base + "/am")
    routes = [
      Route(nil, "/gateway/{policy}/**", gateway),
      Route(["POST"], "/am/json\(Self.realmPath)/authenticate", authenticate),
      Route(["POST"], "/am/json\(Self.realmPath)/policies", policies),
      Route(["GET", "POST", "DELETE"], "/playground/accessManager", control),
      Route(["GET"], "/am/json/serverinfo/*", information),
      Route(["GET"], "/am/json/realms/root/serverinfo/*", information),
      Route(["GET", "POST"], "/am/oauth2\(Self.realmPath)/authorize", authorize),
      Route(["POST"], "/am/json\(Self.realmPath)/sessions", logins),
      Route(["POST", "DELETE"], "/playground/ssoTokens", SSOTokensEndpoint(sessions: sessions, desk: parts.desk)),
    ]
  }

  /// Its one realm.
  static let realm = "alpha"
  /// The segment of the realm in paths.
  static let realmPath = "/realms/root/realms/\(realm)"
}
