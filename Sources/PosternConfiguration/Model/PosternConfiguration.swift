/// The whole configuration of a sidecar, checked: whatever it refers to is there, and every number is within its range.
public struct PosternConfiguration: Sendable, Equatable {
  /// Where callers connect.
  public var listen: ListenConfiguration
  /// Who may call what, first match wins; nil lets the sidecar's own uid do everything, and nobody else anything.
  public var peers: [PeerRule]?
  /// What callers may ask of the sidecar.
  public var limits: LimitsConfiguration
  /// What happens to tokens.
  public var tokens: TokensConfiguration
  /// The optional HTTP listener for health and metrics.
  public var http: HTTPConfiguration
  /// Where sessions are kept.
  public var store: StoreConfiguration
  /// What callers may bring along to have a token validated.
  public var validation: ValidationConfiguration
  /// The OAuth authorization servers and OpenID providers, by name.
  public var issuers: [String: IssuerConfiguration]
  /// The resource servers, by name.
  public var resources: [String: ResourceConfiguration]
  /// The decision points, by name.
  public var preauthorization: [String: PreauthorizationConfiguration]
  /// How the sidecar finds out whether it can do its work.
  public var health: HealthConfiguration
  /// Logging.
  public var log: LogConfiguration
  /// Distributed tracing.
  public var telemetry: TelemetryConfiguration
  /// The audit log of decisions; nil: none is kept.
  public var audit: AuditConfiguration?
  /// How the process protects itself.
  public var hardening: HardeningConfiguration
  /// Switches that only development may need.
  public var development: DevelopmentConfiguration

  /// The configuration that an empty file makes.
  public init() { self = .allDefaults }

  /// The first rule that matches a peer; nil when none does, or when there are no rules.
  public func peerRule(uid: UInt32, gid: UInt32) -> PeerRule? {
    peers?.first { $0.matches(uid: uid, gid: gid) }
  }
}

extension PosternConfiguration: ConfigurationSection {
  init(reading keys: SectionReader) {
    listen = keys.section("listen", ListenConfiguration.self, "Where callers connect.")
    peers = keys.sections(
      "peers", PeerRule.self,
      """
      Who may call what: the first rule that matches a caller's uid and gid decides, and a caller no rule matches is refused. Left out: the \
      sidecar's own uid may do everything, and nobody else anything.
      """)
    limits = keys.section("limits", LimitsConfiguration.self, "What callers may ask of the sidecar.")
    tokens = keys.section("tokens", TokensConfiguration.self, "What happens to tokens.")
    http = keys.section("http", HTTPConfiguration.self, "An HTTP listener for health and metrics.")
    store = keys.section("store", StoreConfiguration.self, "Where sessions are kept.")
    validation = keys.section(
      "validation", ValidationConfiguration.self, "What callers may bring along to have a token validated.")
    issuers = keys.map(
      "issuers", of: IssuerConfiguration.self,
      "The OAuth 2.0 authorization servers and OpenID providers, by the names that resources and calls use.",
      exampleName: "corp")
    resources = keys.map(
      "resources", of: ResourceConfiguration.self, "The resource servers, by the names that calls use.",
      exampleName: "billing")
    preauthorization = keys.map(
      "preauthorization", of: PreauthorizationConfiguration.self,
      "The decision points that answer preauthorize, by the names that calls give as provider.",
      exampleName: "streaming")
    health = keys.section(
      "health", HealthConfiguration.self, "How the sidecar finds out whether it can do its work.")
    log = keys.section("log", LogConfiguration.self, "Logging.")
    telemetry = keys.section("telemetry", TelemetryConfiguration.self, "Distributed tracing.")
    audit = keys.optionalSection(
      "audit", AuditConfiguration.self, "A log of decisions whose lines are tied together by hashes. Left out: none.",
      commented: true)
    hardening = keys.section("hardening", HardeningConfiguration.self, "How the process protects itself.")
    development = keys.section(
      "development", DevelopmentConfiguration.self,
      "Switches for development. Each one that is on warns at start and shows in getInfo.")
    checkReferences(keys)
  }
}
