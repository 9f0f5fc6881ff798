package import AuthEngine
package import HTTPMessages
package import PosternSupport
package import TokenValidation

/// The engine's values that one configuration describes: issuers, resource servers, decision points, rules of token
/// validation. Immutable: another configuration makes another.
package final class ConfiguredEngine: Sendable {
  /// Takes the path of a file that was replaced, and why it cannot be used; nil when it can.
  package typealias FileReport = @Sendable (_ path: String, _ problem: String?) -> Void
  /// Makes the transport of one of so many resources that have HTTP/2.
  package typealias HTTP2Transport = @Sendable (_ resource: String, _ count: Int) -> any HTTPTransport

  /// The configuration.
  package let configuration: PosternConfiguration
  /// Warnings: combinations that do not work well, and certificates that expire.
  package let notes: [String]
  /// The clients' certificates as they were when the configuration was loaded.
  package let certificates: [ClientCertificate]
  /// The keys and key sets that callers may pass to validate a token.
  package let validation: ValidationRules
  /// The outbound proxy; nil where there is none.
  package let outboundProxy: OutboundProxy?
  /// The issuers by name.
  package let issuers: [String: ConfiguredIssuer]
  private let resources: ConfiguredResources
  private let decisions: ConfiguredDecisionPoints
  /// The issuers' key sets that were used: found by name instead of by all properties of an issuer.
  private let keySources = Locked<[String: RemoteJWKSet]>([:])

  /// Throws when a value cannot be used after all. Resources that `previous` has just so keep their cookies. Files that
  /// are made when they are missing are made unless it `isTrial`.
  package init(
    _ configuration: PosternConfiguration, clock: any EngineClock, after previous: ConfiguredEngine? = nil,
    isTrial: Bool = false, fileReport: @escaping FileReport = { _, _ in }, http2Transport: HTTP2Transport? = nil
  ) throws(ConfigurationProblems) {
    self.configuration = configuration
    certificates = try ClientCertificate.all(in: configuration)
    let now = clock.wallNow
    let devices = try DeviceIdentifier.all(in: configuration, makingMissing: !isTrial)
    issuers = try IssuerFactory(configuration: configuration, clock: clock).issuers(after: previous)
    notes =
      FeatureSupport(configuration).notes + Self.assertionNotes(issuers)
      + certificates.compactMap { $0.warning(at: now) }
      + devices.sorted { $0.key < $1.key }.compactMap { $0.value.note(of: $0.key) }
    let factory = ResourceFactory(configuration: configuration)
    var servers = try factory.servers(of: issuers)
    // They share what descriptors there are: where their number changes, so does what each may take.
    let sharing = configuration.http2Resources
    let isShareKept = previous?.configuration.http2Resources == sharing
    let credentials = StaticCredentialFactory(report: fileReport)
    for (name, resource) in configuration.resources {
      servers[name]?.credential = try credentials.credential(resource, named: name)
      let kept = previous?.configuration.resources[name] == resource ? previous?.resources.servers[name] : nil
      if let kept { servers[name]?.cookies = kept.cookies }
      // It ends with the last call that has it.
      guard resource.http2 else { continue }
      servers[name]?.transport =
        (isShareKept ? kept?.transport : nil) ?? http2Transport?(name, sharing)
    }
    let adobePass = previous?.decisions.adobePass ?? AdobePassState(clock: clock)
    decisions = ConfiguredDecisionPoints(
      points: try DecisionPointFactory(configuration: configuration, clock: clock, adobePass: adobePass)
        .decisionPoints(of: issuers, devices, after: previous),
      deviceIdentifiers: devices.mapValues(\.value), adobePass: adobePass)
    validation = try factory.validation()
    outboundProxy = try OutboundFactory(configuration: configuration).proxy(fileReport)
    resources = ConfiguredResources(servers: servers, payloadKeys: try factory.payloadKeys(fileReport))
  }

  /// Warnings about clients' assertions that cannot be sent at the moment: the program that writes them may come later.
  private static func assertionNotes(_ issuers: [String: ConfiguredIssuer]) -> [String] {
    issuers.sorted { $0.key < $1.key }.compactMap { name, configured in
      configured.issuer.clientAuthentication.fault.map { "issuers.\(name).clientAssertion: the assertion \($0.phrase)" }
    }
  }

  /// The decision points by name.
  package var decisionPoints: [String: DecisionPoint] { decisions.points }

  /// The decision points' devices.
  var deviceIdentifiers: [String: Secret<String>] { decisions.deviceIdentifiers }

  /// Every resource server.
  package var allServers: [ResourceServer] { Array(resources.servers.values) }

  /// Looks at the files of secrets that are read again when they are replaced: an unusable one is reported.
  package func checkSecretFiles() { for server in allServers { server.credential?.check() } }

  /// The names of the resource servers.
  package var resourceNames: some Sequence<String> { resources.servers.keys }

  /// Whether a resource server of that name is configured.
  package func hasResource(_ name: String) -> Bool { resources.servers.index(forKey: name) != nil }

  /// The resource server of that name; nil where none is configured.
  package func server(_ name: String) -> ResourceServer? { resources.server(name) }

  /// The issuer of the inbound tokens that are exchanged for a resource's tokens; nil where none are.
  package func inboundIssuer(of resource: String) -> ConfiguredIssuer? {
    guard let tokens = configuration.resources[resource]?.tokens, let exchange = tokens.exchange else { return nil }
    return (exchange.inboundIssuer ?? tokens.issuer).flatMap { issuers[$0] }
  }

  /// The key set of a configured issuer.
  package func keys(of configured: ConfiguredIssuer, in keySets: KeySetStore) -> RemoteJWKSet {
    let name = configured.issuer.name
    if let source = keySources.withLock({ $0[name] }) { return source }
    let source = keySets.source(for: configured.issuer, policy: configured.keySets)
    keySources.withLock { $0[name] = source }
    return source
  }

  /// The issuer as sessions need it, with its keys in `keySets`; an error for one without a client. It knows the redirect
  /// URIs of other issuers that are visible.
  package func sessionIssuer(
    _ configured: ConfiguredIssuer, keysIn keySets: KeySetStore,
    where isVisible: (_ issuer: String) -> Bool = { _ in true }
  ) throws(SessionError) -> SessionIssuer {
    guard configured.clientID != nil else {
      throw SessionError.grantNotSupported("the issuer is configured without clientId")
    }
    var issuer = SessionIssuer(
      issuer: configured.issuer, tokens: configured.tokens, keys: keys(of: configured, in: keySets),
      scope: configured.scope, implicit: configured.implicit, accessManager: configured.accessManager,
      redirectURI: configured.redirectURI)
    issuer.otherRedirectURIs = issuers.values.compactMap {
      $0.issuer.identifier != configured.issuer.identifier && isVisible($0.issuer.name) ? $0.redirectURI : nil
    }
    return issuer
  }

  /// The decision point of that name among those that are visible; without a name the only one.
  package func decisionPoint(
    _ name: String?, where isVisible: (_ decisionPoint: String) -> Bool = { _ in true }
  ) -> Result<DecisionPoint, DecisionPointError> {
    let configured = configuration.preauthorization.filter { isVisible($0.key) }
    func absent(_ reason: String) -> Result<DecisionPoint, DecisionPointError> {
      .failure(DecisionPointError(reason: reason))
    }
    guard let name = name ?? (configured.count == 1 ? configured.keys.first : nil) else {
      return absent(
        configured.isEmpty ? "no decision point is configured" : "several decision points are configured: say which")
    }
    guard isVisible(name), let point = decisionPoints[name] else {
      return absent(
        Suggestion.appended(to: "no decision point of that name is configured", for: name, among: configured.keys))
    }
    return .success(point)
  }

  /// The scope of logins at an issuer: the issuer's own, and those of its users' resources that `isVisible`; nil where
  /// neither is configured.
  package func loginScope(of issuer: String, where isVisible: (_ resource: String) -> Bool = { _ in true }) -> String? {
    let wanted = resources.userScopes[issuer, default: []].filter { isVisible($0.resource) }.map(\.scope)
    guard !wanted.isEmpty else { return issuers[issuer]?.scope }
    return ScopeText.union([issuers[issuer]?.scope ?? "openid"] + wanted)
  }
}

/// Why no decision point can be used.
package struct DecisionPointError: Error {
  /// The reason, for people.
  package let reason: String
}

/// A configured issuer with the requirements on its tokens and keys.
package struct ConfiguredIssuer: Sendable {
  /// The issuer.
  package let issuer: Issuer
  /// Nil where the issuer only serves to validate tokens.
  package let clientID: String?
  /// The requirements on ID tokens, prepared for the calls.
  package let tokenRules: PreparedTokenRules
  let keySets: KeySetPolicy
  /// The scope to request when a call does not name one.
  package let scope: String?
  /// How registered profiles are logged in; nil where that is not set up.
  package let implicit: ImplicitAccess?
  /// The access manager behind it; nil where there is none.
  package let accessManager: AccessManager?
  /// Where codes of logins without a caller's own redirect URI are sent.
  package let redirectURI: String?
  /// Whether its JWTs are introspected, too.
  package let introspectsJWTs: Bool
  /// How long its answers about opaque tokens are kept.
  let answerLife: Duration
  let proofs: ProofRules

  /// The requirements on ID tokens.
  package var tokens: AuthEngine.IDTokenConfiguration { tokenRules.configuration }

  /// The issuer as the source of the tokens of requests, with its keys.
  package func tokenSource(keys: any KeySource) -> TokenSource {
    var source = TokenSource(issuer: issuer, tokens: tokens, keys: keys)
    source.introspectsJWTs = introspectsJWTs
    source.answerLife = answerLife
    source.proofs = proofs
    return source
  }
}

/// The keys and key sets that callers may pass to validate a token.
package struct ValidationRules: Sendable {
  /// Whether they may pass a key set.
  package let allowsInlineKeys: Bool
  /// From where they may have one fetched.
  package let keySetOrigins: Set<HTTPURL.Origin>
  /// Whether they may set the time of a validation.
  package let allowsCallerClock: Bool
  /// How the servers there are reached.
  package let access: ServerAccess
}

/// The resource servers by name, with the keys of those whose bodies are encrypted: a replaced file has new ones.
private struct ConfiguredResources: Sendable {
  let servers: [String: ResourceServer]
  let payloadKeys: [String: PayloadKeys]
  /// The scopes of the resources with users' tokens, by issuer and in the order of the resources' names.
  let userScopes: [String: [(resource: String, scope: String)]]

  init(servers: [String: ResourceServer], payloadKeys: [String: PayloadKeys]) {
    self.servers = servers
    self.payloadKeys = payloadKeys
    var scopes: [String: [(resource: String, scope: String)]] = [:]
    for server in servers.values where server.authentication == .user {
      guard let issuer = server.issuer?.name, let scope = server.scope else { continue }
      scopes[issuer, default: []].append((server.name, scope))
    }
    userScopes = scopes.mapValues { $0.sorted { $0.resource < $1.resource } }
  }

  /// The resource server of that name, with the keys of now.
  func server(_ name: String) -> ResourceServer? {
    guard var server = servers[name] else { return nil }
    if let keys = payloadKeys[name] { server.payloadEncryption = keys.current }
    return server
  }
}

/// The decision points by name, with the devices of those that identify one.
private struct ConfiguredDecisionPoints: Sendable {
  let points: [String: DecisionPoint]
  let deviceIdentifiers: [String: Secret<String>]
  /// The state that they share at Adobe Pass: kept when the configuration is replaced.
  let adobePass: AdobePassState
}

/// Warnings about combinations of settings that do not work well.
private struct FeatureSupport {
  private(set) var notes: [String] = []

  init(_ configuration: PosternConfiguration) {
    for (name, provider) in configuration.preauthorization.sorted(by: { $0.key < $1.key })
    where provider.kind == .adobePass && configuration.store.kind == .memory {
      notes.append(
        "preauthorization.\(name): with store.kind memory every start registers a new client, which costs users their logins"
      )
    }
  }
}

extension PosternConfiguration {
  /// How many resources have HTTP/2.
  fileprivate var http2Resources: Int { resources.values.count { $0.http2 } }
}
