/// The whole configuration of a sidecar, checked: whatever it refers to is there, and every number is within its range.
public struct PosternConfiguration: Sendable, Equatable {
  /// Where callers connect.
  public var listen: ListenConfiguration
  /// The access rules, first match wins; nil lets the sidecar's own uid do everything, and no other.
  public var peers: [PeerRule]?
  /// Limits on callers.
  public var limits: LimitsConfiguration
  /// Whether tokens may leave the sidecar.
  public var tokens: TokensConfiguration
  /// The optional HTTP listener for health and metrics.
  public var http: HTTPConfiguration
  /// HTTP for programs that cannot be changed.
  public var gateway: GatewayConfiguration
  /// Where sessions are kept.
  public var store: StoreConfiguration
  /// Keys and key sets that callers may pass to validate a token.
  public var validation: ValidationConfiguration
  /// The OAuth authorization servers and OpenID providers, by name.
  public var issuers: [String: IssuerConfiguration]
  /// The resource servers, by name.
  public var resources: [String: ResourceConfiguration]
  /// The decision points, by name.
  public var preauthorization: [String: PreauthorizationConfiguration]
  /// How requests leave the machine.
  public var outbound: OutboundConfiguration
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
}

extension PosternConfiguration: ConfigurationSection {
  package init(reading keys: SectionReader) {
    listen = keys.section("listen", ListenConfiguration.self, "Where callers connect.")
    peers = keys.sections(
      "peers", PeerRule.self,
      """
      Access rules: the first rule that matches a caller's uid and gid decides, and a caller that no rule matches is rejected. Left out: \
      the sidecar's own uid may do everything, and no other uid anything.
      """)
    limits = keys.section("limits", LimitsConfiguration.self, "Limits on callers.")
    tokens = keys.section("tokens", TokensConfiguration.self, "Whether tokens may leave the sidecar.")
    http = keys.section("http", HTTPConfiguration.self, "An HTTP listener for health and metrics.")
    gateway = keys.section("gateway", GatewayConfiguration.self, "HTTP for programs that cannot be changed.")
    store = keys.section("store", StoreConfiguration.self, "Where sessions are kept.")
    validation = keys.section(
      "validation", ValidationConfiguration.self, "Keys and key sets that callers may pass to validate a token.")
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
    outbound = keys.section("outbound", OutboundConfiguration.self, "How requests leave the machine.")
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

/// Whether tokens may leave the sidecar.
public struct TokensConfiguration: Sendable, Equatable {
  /// Whether `getAccessToken` hands tokens out. Default false.
  public var leaveTheSidecar: Bool
}

extension TokensConfiguration: ConfigurationSection {
  package init(reading keys: SectionReader) {
    leaveTheSidecar = keys.value(
      "leaveTheSidecar", .boolean, default: false, "Whether getAccessToken hands access tokens to callers.")
  }
}

/// Keys and key sets that callers may pass to validate a token.
public struct ValidationConfiguration: Sendable, Equatable {
  /// Whether callers may pass a key set of their own (`jwks`). Default true.
  public var inlineJwks: Bool
  /// The origins from which callers may have key sets fetched (`jwksUrl`). Default none.
  public var jwksOrigins: [String]
  /// Which servers to trust at these origins.
  public var tls: TrustConfiguration
}

extension ValidationConfiguration: ConfigurationSection {
  package init(reading keys: SectionReader) {
    inlineJwks = keys.value("inlineJwks", .boolean, default: true, "Whether callers may pass a key set as jwks.")
    jwksOrigins = keys.list(
      "jwksOrigins", of: .origin, default: [],
      "Origins, as in https://host, that callers may name in jwksUrl. Empty: none.")
    tls = keys.section("tls", TrustConfiguration.self, "Which servers to trust at these origins.")
    let hasTrust = tls.caFile != nil || tls.pins != nil || tls.pinsRequired
    if hasTrust, jwksOrigins.isEmpty { keys.problem("has no effect without jwksOrigins", at: "tls") }
  }
}

/// How the sidecar finds out whether it can do its work.
public struct HealthConfiguration: Sendable, Equatable {
  /// Whether the issuers' key sets are fetched before a call needs them. Default true.
  public var askIssuers: Bool
}

extension HealthConfiguration: ConfigurationSection {
  package init(reading keys: SectionReader) {
    askIssuers = keys.value(
      "askIssuers", .boolean, default: true,
      "Whether every issuer's key set is fetched, and refreshed before it expires, from the first readiness check on, so that "
        + "readiness shows whether the issuers work. false: only when a call needs it; an issuer that was not used counts as healthy then."
    )
  }
}

/// Switches that only development may need. Each one that is on warns at start and shows in `getInfo`.
public struct DevelopmentConfiguration: Sendable, Equatable {
  /// Whether `http://` upstreams are allowed on 127.0.0.0/8 and `::1`. Default false.
  public var plainHTTPOnLoopback: Bool
  /// Whether callers may set `now` when they have a token validated. Default false.
  public var callerClock: Bool

  /// The switches that are on, by their keys.
  public var activeSwitches: [String] {
    [plainHTTPOnLoopback ? "plainHTTPOnLoopback" : nil, callerClock ? "callerClock" : nil].compactMap { $0 }
  }
}

extension DevelopmentConfiguration: ConfigurationSection {
  package init(reading keys: SectionReader) {
    plainHTTPOnLoopback = keys.value(
      "plainHTTPOnLoopback", .boolean, default: false, "Allows http:// upstreams on 127.0.0.0/8 and [::1].")
    callerClock = keys.value(
      "callerClock", .boolean, default: false, "Lets callers set now in validateIdToken and its relatives.")
    for name in activeSwitches { keys.warn("a development switch is on", at: name) }
  }
}

extension PosternConfiguration {
  /// The top-level keys whose values differ from `earlier`'s, in the order of the documentation. Secrets count by value
  /// and are never shown: a rotated client secret makes `issuers` differ.
  public func changedKeys(from earlier: PosternConfiguration) -> [String] {
    Self.comparisons.filter { !$0.isSame(self, earlier) }.map(\.key)
  }

  /// The top-level keys, or parts of them, that are read at start only.
  public static let keysReadAtStart: Set<String> = [
    "listen", "store", "log", "telemetry", "audit", "hardening", "http", "limits", "gateway",
  ]

  /// The keys of `keysReadAtStart` that differ from `earlier`'s. A store at the same location accepts new keys and
  /// passwords while it runs. Kerberos takes variables and files that are out of reach where it is not used at start.
  public func keysThatTakeARestart(from earlier: PosternConfiguration) -> [String] {
    changedKeys(from: earlier).filter { key in
      switch key {
      case "store": !store.isSameLocation(as: earlier.store)
      case "gateway": !gateway.hasSameListener(as: earlier.gateway)
      case "outbound": outbound.proxy?.auth == .negotiate && earlier.outbound.proxy?.auth != .negotiate
      default: Self.keysReadAtStart.contains(key)
      }
    }
  }

  /// One comparison for each top-level key; a test holds the keys against the schema.
  static let comparisons: [Comparison] = [
    Comparison("listen") { $0.listen },
    Comparison("peers") { $0.peers },
    Comparison("limits") { $0.limits },
    Comparison("tokens") { $0.tokens },
    Comparison("http") { $0.http },
    Comparison("gateway") { $0.gateway },
    Comparison("store") { $0.store },
    Comparison("validation") { $0.validation },
    Comparison("issuers") { $0.issuers },
    Comparison("resources") { $0.resources },
    Comparison("preauthorization") { $0.preauthorization },
    Comparison("outbound") { $0.outbound },
    Comparison("health") { $0.health },
    Comparison("log") { $0.log },
    Comparison("telemetry") { $0.telemetry },
    Comparison("audit") { $0.audit },
    Comparison("hardening") { $0.hardening },
    Comparison("development") { $0.development },
  ]

  /// A top-level key with the comparison of its values.
  struct Comparison: Sendable {
    let key: String
    fileprivate let isSame: @Sendable (PosternConfiguration, PosternConfiguration) -> Bool

    fileprivate init(_ key: String, _ value: @escaping @Sendable (PosternConfiguration) -> some Equatable & Sendable) {
      self.key = key
      isSame = { value($0) == value($1) }
    }
  }
}
