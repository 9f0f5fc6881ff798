public import AuthEngine
import PosternJSON

/// A decision point that answers `preauthorize`.
public struct PreauthorizationConfiguration: Sendable, Equatable {
  /// The kinds of decision point.
  public enum Kind: String, Sendable, Hashable, CaseIterable {
    /// Adobe Pass REST v2.
    case adobePass = "adobe-pass"
    /// OpenID AuthZEN Authorization API 1.0.
    case authzen
    /// Open Policy Agent's REST data API.
    case opa
    /// The policy evaluation of PingAM and ForgeRock AM.
    case accessManager = "access-manager"
  }

  /// The question of requests: an action of a subject on resources.
  public struct Evaluation: Sendable, Equatable {
    /// The type of the resources (AuthZEN). Default `channel`.
    public var resourceType: String
    /// The action to decide about. Default `view`.
    public var action: String
    /// The subject's type. Default `user`.
    public var subjectType: String
    /// The claims of the session that requests send about the subject. Default none.
    public var subjectClaims: [String]
  }

  /// How requests are sent: how many resources in each, how often, and how long a response may take.
  public struct Requests: Sendable, Equatable {
    /// How many resources go into one request. Default 50; 5 with `adobe-pass`.
    public var maxBatch: Int
    /// How long one call of the decision point may take. Default 5 seconds.
    public var timeout: Duration
    /// How often a retryable item is tried, the first time included. Default 3.
    public var attempts: Int
    /// The rate limit of requests; nil: none. Default with `adobe-pass`: 1 a second, bursts of 10.
    public var rateLimit: RequestRateConfiguration?

    static func defaultMaxBatch(of kind: Kind) -> Int { kind == .adobePass ? 5 : 50 }

    static func defaultRateLimit(of kind: Kind) -> RequestRateConfiguration? {
      kind == .adobePass ? RequestRateConfiguration(perSecond: 1, burst: 10) : nil
    }
  }

  /// Settings of one kind of decision point alone; see also `AdobePassConfiguration`.
  public struct KindOptions: Sendable, Equatable {
    /// `authzen`: where the metadata are; nil: at the well-known location.
    public var metadataURL: String?
    /// `authzen`: where a decision contains the reason of a deny.
    public var reasons: DecisionReasonsConfiguration
    /// `opa`: the path of the rule below `/v1/data/`.
    public var path: String?
    /// `access-manager`: the policy set. Default `iPlanetAMWebAgentService`.
    public var application: String
    /// `access-manager`: the realm; nil: that of the issuer's access manager, else the root realm.
    public var realm: String?
    /// `access-manager`: the header and cookie of sessions; nil: that of the issuer's access manager, else
    /// `iPlanetDirectoryPro`.
    public var cookieName: String?
  }

  /// The kind.
  public var kind: Kind
  /// The decision point's base URL.
  public var baseURL: String
  /// The name of the issuer whose session is the subject; nil takes `context.subject` of the call.
  public var issuer: String?
  /// The question of requests. Its keys, as those of `requests`, `options` and `adobePass`, are in the section of the
  /// decision point.
  public var evaluation: Evaluation
  /// How requests are sent.
  public var requests: Requests
  /// How long decisions are kept.
  public var cache: DecisionCacheConfiguration
  /// How the sidecar authenticates at the decision point.
  public var credentials: DecisionCredentials
  /// Which servers to trust.
  public var tls: TrustConfiguration
  /// Whether requests leave through the outbound proxy. Default `outbound`.
  public var proxy: ProxyChoice
  /// Settings of one kind of decision point alone.
  public var options: KindOptions
  /// A fixed decision that replaces the decision point for a while.
  public var degradation: DecisionDegradation?
  /// `adobe-pass`.
  public var adobePass: AdobePassConfiguration
}

extension PreauthorizationConfiguration: ConfigurationSection {
  package init(reading keys: SectionReader) {
    kind = keys.required(
      "kind", .choice(Kind.self, placeholder: .authzen), "Protocol of the decision point.", example: .shown("authzen"))
    baseURL = keys.required("baseUrl", .baseURL, "Its base URL.", example: .shown("https://pdp.example.com"))
    issuer = keys.optional(
      "issuer", .text,
      """
      Name of the issuer whose session is the subject, and which issues the decision point's bearer token. Left out: the subject is the \
      call's context.subject; adobe-pass needs none.
      """, example: .shown("corp"))
    evaluation = Evaluation(reading: keys)
    requests = Requests(reading: keys, of: kind)
    cache = keys.section("cache", DecisionCacheConfiguration.self, "How long decisions are kept.")
    credentials = keys.section(
      "credentials", DecisionCredentials.self, "How the sidecar authenticates at the decision point.")
    let isBearerGiven = keys.entry("credentials")?.value["bearer"] != nil
    if !isBearerGiven, credentials.token == nil, issuer != nil, kind == .authzen || kind == .opa {
      credentials.bearer = .clientCredentials
    }
    tls = keys.section("tls", TrustConfiguration.self, "Which servers to trust.")
    proxy = ProxyChoice.read(keys)
    options = KindOptions(reading: keys)
    degradation = keys.optionalSection(
      "degradation", DecisionDegradation.self, "A temporary rule that answers instead of the decision point.",
      commented: true)
    adobePass = AdobePassConfiguration(reading: keys)
    check(keys)
  }

  private func check(_ keys: SectionReader) {
    checkEvaluation(keys)
    for (name, onlyKind) in Self.keysOfOneKind where keys.isGiven(name) && onlyKind != kind {
      keys.warn("\(name) is for kind: \(onlyKind.rawValue) only and does nothing here", at: name)
    }
    func demand(_ name: String, _ alternatives: [String] = []) {
      let names = alternatives.isEmpty ? [name] : alternatives
      if !names.contains(where: keys.isGiven) { keys.problem("kind: \(kind.rawValue) needs \(name)", at: "kind") }
    }
    switch kind {
    case .opa:
      demand("path")
    case .adobePass:
      if keys.isGiven("credentials") {
        keys.warn("kind: adobe-pass registers a client of its own; credentials do nothing here", at: "credentials")
      }
      demand("serviceProvider")
      demand(
        "softwareStatementFile", ["softwareStatementFile", "softwareStatementEnv", "softwareStatement"])
      demand("deviceIdFile")
      for (index, origin) in adobePass.login.urlOrigins.enumerated()
      where Self.isPlain(origin) && !Self.isPlain(baseURL) {
        keys.context.problem("must begin with https://, as baseUrl does", at: keys.path.key("urlOrigins").index(index))
      }
    case .accessManager where credentials.isNothing:
      keys.problem("kind: access-manager needs credentials: ssoTokenFile, or usernameFile and passwordFile", at: "kind")
    case .accessManager, .authzen:
      break
    }
  }

  private func checkEvaluation(_ keys: SectionReader) {
    if issuer == nil, !evaluation.subjectClaims.isEmpty {
      keys.problem("has no effect without an issuer: they are claims of a session", at: "subjectClaims")
    }
    let hasTypes = kind == .authzen || kind == .opa
    let settings = [
      ("resourceType", evaluation.resourceType != "channel", hasTypes),
      ("subjectType", evaluation.subjectType != "user", hasTypes),
      ("subjectClaims", !evaluation.subjectClaims.isEmpty, hasTypes),
      ("action", evaluation.action != "view", kind != .adobePass),
    ]
    for (name, isSet, isRead) in settings where isSet && !isRead {
      keys.warn("\(name) does nothing here: kind: \(kind.rawValue) has no such parameter", at: name)
    }
    if kind == .authzen || kind == .opa, credentials.ssoToken != nil || credentials.username != nil {
      keys.warn("ssoTokenFile, usernameFile and passwordFile are for kind: access-manager only", at: "credentials")
    }
  }

  private static func isPlain(_ url: String) -> Bool { url.prefix(5).lowercased() == "http:" }

  private static let keysOfOneKind: [(String, Kind)] =
    [
      ("path", .opa), ("application", .accessManager), ("realm", .accessManager), ("cookieName", .accessManager),
      ("metadataUrl", .authzen), ("reasons", .authzen),
    ]
    + [
      "serviceProvider", "mvpd", "softwareStatementFile", "softwareStatementEnv", "softwareStatement", "deviceIdFile",
      "deviceInfo", "redirectUrls", "domainNames", "urlOrigins", "pollInterval",
    ].map { ($0, .adobePass) }
}

extension PreauthorizationConfiguration.Evaluation: ConfigurationSection {
  package init(reading keys: SectionReader) {
    resourceType = keys.value("resourceType", .text, default: "channel", "Type of the resources, for authzen and opa.")
    action = keys.value("action", .text, default: "view", "Action to decide about.")
    subjectType = keys.value(
      "subjectType", .text, default: "user", "Type of the subject, for authzen and opa.",
      example: .commented("user"))
    subjectClaims = keys.list(
      "subjectClaims", of: .text, default: [],
      "Claims of the session's ID token that go along as properties of the subject, for authzen and opa.",
      example: .commented(["roles"]))
  }
}

extension PreauthorizationConfiguration.Requests {
  init(reading keys: SectionReader, of kind: PreauthorizationConfiguration.Kind) {
    maxBatch =
      keys.optional(
        "maxBatch", .integer(1...1000), "Resources in one request. Left out: 50, with adobe-pass 5.",
        example: .shown(50))
      ?? Self.defaultMaxBatch(of: kind)
    timeout = keys.value(
      "timeout", .duration(.milliseconds(1) ... .seconds(600)), default: .seconds(5),
      "How long one request to the decision point may take.")
    attempts = keys.value(
      "attempts", .integer(1...10), default: 3, "How often a retryable item is tried, the first time included.")
    rateLimit =
      keys.optionalSection(
        "rateLimit", formerly: "pace", RequestRateConfiguration.self,
        "Rate limit of requests. Left out: none; with adobe-pass one a second after a burst of 10.",
        commented: true) ?? Self.defaultRateLimit(of: kind)
  }
}

extension PreauthorizationConfiguration.KindOptions: ConfigurationSection {
  package init(reading keys: SectionReader) {
    metadataURL = keys.optional(
      "metadataUrl", .endpoint,
      "authzen: where the metadata are. Left out: /.well-known/authzen-configuration before baseUrl's path.",
      example: .commented("https://pdp.example.com/.well-known/authzen-configuration"))
    reasons = keys.section(
      "reasons", DecisionReasonsConfiguration.self, "authzen: where a decision contains the reason of a deny.",
      commented: true)
    path = keys.optional(
      "path", .rulePath, "opa: path of the rule below /v1/data/.", example: .commented("pass/decisions"))
    application = keys.value(
      "application", .text, default: "iPlanetAMWebAgentService", "access-manager: policy set that is evaluated.",
      example: .commented("iPlanetAMWebAgentService"))
    realm = keys.optional(
      "realm", .realm, "access-manager: realm. Left out: that of the issuer's accessManager, else the root realm.",
      example: .commented("alpha"))
    cookieName = keys.optional(
      "cookieName", .cookieName,
      "access-manager: name of the SSO cookie. Left out: that of the issuer's accessManager, else iPlanetDirectoryPro.",
      example: .commented("iPlanetDirectoryPro"))
  }
}

extension ValueForm where Value == String {
  /// The path of a rule: names separated by single `/`, none in front.
  fileprivate static var rulePath: Self {
    text { path, _ throws(ValueProblem) in
      let areNames = path.split(separator: "/", omittingEmptySubsequences: false).allSatisfy { name in
        !name.isEmpty && name != "." && name != ".."
          && name.unicodeScalars.allSatisfy { YAMLText.mayNameAnchor($0) || $0 == "." }
      }
      guard areNames else { throw ValueProblem("must be names separated by /, as in pass/decisions") }
      return path
    }
  }
}

/// A rate limit of requests: a token bucket.
public struct RequestRateConfiguration: Sendable, Equatable {
  /// Requests a second in the long run. Default 1.
  public var perSecond: Double
  /// Requests at once after a pause. Default 10.
  public var burst: Int
}

extension RequestRateConfiguration: ConfigurationSection {
  package init(reading keys: SectionReader) {
    perSecond = keys.value(
      "perSecond", .number(above: 0, upTo: 100_000), default: 1, "Requests a second in the long run.")
    burst = keys.value("burst", .integer(1...100_000), default: 10, "Requests at once after a pause.")
  }
}

/// How long decisions are cached; a shorter time from the decision point takes precedence.
public struct DecisionCacheConfiguration: Sendable, Equatable {
  /// Permits. Default 60 seconds; zero keeps none.
  public var permit: Duration
  /// Genuine denies. Default zero: none.
  public var deny: Duration
}

extension DecisionCacheConfiguration: ConfigurationSection {
  package init(reading keys: SectionReader) {
    permit = keys.value(
      "permit", .duration(upTo: .seconds(86_400)), default: .seconds(60),
      "How long a permit is cached; 0s for not at all.")
    deny = keys.value(
      "deny", .duration(upTo: .seconds(3600)), default: .zero, "How long a genuine deny is cached; 0s for not at all.")
  }
}

/// Where an AuthZEN decision's `context`, whose content is not standardised, contains the reason of a deny.
public struct DecisionReasonsConfiguration: Sendable, Equatable {
  /// A JSON Pointer to the code; nil: the usual members.
  public var code: String?
  /// A JSON Pointer to the message; nil: the usual members.
  public var message: String?
}

extension DecisionReasonsConfiguration: ConfigurationSection {
  package init(reading keys: SectionReader) {
    code = keys.optional(
      "code", .pointer, "JSON Pointer into context, to the code. Looked at before the usual members.",
      example: .commented("/reason_code"))
    message = keys.optional(
      "message", .pointer, "JSON Pointer into context, to the message. Looked at before the usual members.",
      example: .commented("/reason_user/en"))
  }
}

extension ValueForm where Value == String {
  /// A JSON Pointer (RFC 6901) that points into something.
  fileprivate static var pointer: Self {
    text { pointer, _ throws(ValueProblem) in
      guard pointer.hasPrefix("/") else { throw ValueProblem("must be a JSON Pointer, as in /reason_code") }
      return pointer
    }
  }
}
