import PosternSupport

/// The parts that the provider and its surroundings share: every store and every check, made once.
struct ProviderParts: Sendable {
  let issuer: String
  let keys: SigningKeys
  let clientKey: ClientKey
  let clients: ClientDirectory
  let settings: Settings
  let statistics: Statistics
  let faults: Faults
  let clock: any EngineClock
  let families: RefreshFamilies
  let accessTokens: AccessTokens
  let idTokens: IDTokens
  let assertions: AssertionCheck
  let codes: AuthorizationCodes
  let deviceCodes: DeviceCodes
  let nextLogins = NextLogins()
  let sessions: ProviderSessions
  /// The resource server's encrypted bodies.
  let payloads = PayloadSettings()
  /// Proofs at the provider's endpoints.
  let providerDPoP: DPoPCheck
  /// Proofs at the resource server, which has nonces of its own (RFC 9449 section 9).
  let resourceDPoP: DPoPCheck

  /// The parts of the provider `issuer`. Fails when a client's key set is no public one.
  init(
    issuer: String, configuration: PlaygroundConfiguration, keys: SigningKeys, clientKey: ClientKey,
    clients: ClientDirectory, statistics: Statistics, clock: any EngineClock
  ) {
    let settings = Settings(configuration)
    let faults = Faults(clock: clock)
    self.issuer = issuer
    self.keys = keys
    self.clientKey = clientKey
    self.clients = clients
    self.settings = settings
    self.statistics = statistics
    self.faults = faults
    self.clock = clock
    families = RefreshFamilies(
      configuration: configuration, settings: settings, statistics: statistics, clock: clock)
    accessTokens = AccessTokens(
      issuer: issuer, keys: keys, lifetime: configuration.accessTokenLifetime, families: families, clock: clock)
    idTokens = IDTokens(
      issuer: issuer, keys: keys, lifetime: configuration.idTokenLifetime, faults: faults, clock: clock,
      statistics: statistics)
    assertions = AssertionCheck(issuer: issuer, clients: clients, clock: clock)
    codes = AuthorizationCodes(families: families, statistics: statistics, clock: clock)
    deviceCodes = DeviceCodes(families: families, clock: clock)
    sessions = ProviderSessions(clock: clock)
    providerDPoP = DPoPCheck(clock: clock, statistics: statistics) { settings.values.requiresProviderNonce }
    resourceDPoP = DPoPCheck(clock: clock, statistics: statistics) { settings.values.requiresResourceNonce }
  }

  /// Where users log in.
  var desk: LoginDesk {
    LoginDesk(sessions: sessions, nextLogins: nextLogins, statistics: statistics, clock: clock)
  }
}
