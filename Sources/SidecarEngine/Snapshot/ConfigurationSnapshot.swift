package import AuthEngine
import Glibc
package import HTTPMessages
package import PosternConfiguration
import PosternJSON
package import PosternJSONRPC
import PosternProtocol
package import PosternSupport
package import SidecarAccess
package import SidecarObservability

/// One configuration made ready to run on. Immutable: a reload makes another.
package final class ConfigurationSnapshot: Sendable {
  package let configuration: PosternConfiguration
  package let access: AccessRules
  /// The answer to `getInfo`, but for what changes by itself.
  package let info: ProcessInfo
  /// Warnings at start: combinations that do not work well, and certificates that expire.
  package let notes: [String]
  /// The clients' certificates as they were when the configuration was loaded.
  package let certificates: [ClientCertificate]
  /// The keys and key sets that callers may pass to validate a token.
  package let validation: ValidationRules
  private let resources: ConfiguredResources
  package let issuers: [String: ConfiguredIssuer]
  private let decisions: ConfiguredDecisionPoints

  /// Throws when a value cannot be used after all. Resources that `previous` has just so keep their cookies. Files that
  /// are made when they are missing are made unless it `isTrial`.
  package init(
    _ configuration: PosternConfiguration, _ identity: ProcessIdentity, clock: any EngineClock,
    after previous: ConfigurationSnapshot? = nil, isTrial: Bool = false, replacements: FileReloadMonitor? = nil,
    http2Transport: (@Sendable (_ resource: String, _ count: Int) -> any HTTPTransport)? = nil
  ) throws(ConfigurationProblems) {
    self.configuration = configuration
    access = AccessRules(configuration.peers, ownUID: getuid(), unmapped: identity.unmapped)
    let switches = configuration.development.activeSwitches.map { "development.\($0)" }
    let hardening = configuration.hardening
    let protections =
      (hardening.debuggerCheck ? ["hardening.debuggerCheck"] : [])
      + (hardening.coreDumps ? [] : ["hardening.noCoreDumps"])
    info = identity.info(features: Product.features + protections + switches)
    certificates = try ClientCertificate.all(in: configuration)
    let now = clock.wallNow
    let devices = try DeviceIdentifier.all(in: configuration, makingMissing: !isTrial)
    notes =
      access.notes + FeatureSupport(configuration).notes + certificates.compactMap { $0.warning(at: now) }
      + devices.sorted { $0.key < $1.key }.compactMap { $0.value.note(of: $0.key) }
    issuers = try IssuerFactory(configuration: configuration, clock: clock).issuers(after: previous)
    let factory = ResourceFactory(configuration: configuration)
    var servers = try factory.servers(of: issuers)
    // They share what descriptors there are: where their number changes, so does what each may take.
    let sharing = configuration.http2Resources
    let isShareKept = previous?.configuration.http2Resources == sharing
    for (name, resource) in configuration.resources {
      let kept = previous?.configuration.resources[name] == resource ? previous?.resources.servers[name] : nil
      if let kept { servers[name]?.cookies = kept.cookies }
      // It ends with the last call that has it.
      guard resource.http2 else { continue }
      servers[name]?.connections.transport =
        (isShareKept ? kept?.connections.transport : nil) ?? http2Transport?(name, sharing)
    }
    decisions = ConfiguredDecisionPoints(
      points: try DecisionPointFactory(configuration: configuration, clock: clock)
        .decisionPoints(of: issuers, devices, after: previous),
      deviceIdentifiers: devices.mapValues(\.value))
    validation = try factory.validation()
    resources = ConfiguredResources(servers: servers, payloadKeys: try factory.payloadKeys(replacements))
  }

  /// The bounds of one connection.
  package var limits: ConversationLimits {
    let limits = configuration.limits
    return ConversationLimits(
      inFlight: limits.inFlightPerConnection, batch: limits.batch, outgoing: limits.inFlightPerConnection,
      messageBytes: limits.messageBytes, depth: limits.depth)
  }

  /// The bounds on all calls together.
  package var callLimits: ConcurrencyLimiter.Limits {
    let limits = configuration.limits
    return ConcurrencyLimiter.Limits(capacity: limits.inFlight, queue: limits.queue, queueTime: limits.queueTime)
  }

  /// The decision points by name.
  package var decisionPoints: [String: DecisionPoint] { decisions.points }

  /// The decision points' devices.
  var deviceIdentifiers: [String: Secret<String>] { decisions.deviceIdentifiers }

  /// Every resource server.
  package var allServers: [ResourceServer] { Array(resources.servers.values) }

  /// The scope of logins at an issuer: the issuer's own, and those of its users' resources that `isVisible`; nil where
  /// neither is configured.
  func loginScope(of issuer: String, where isVisible: (_ resource: String) -> Bool) -> String? {
    let wanted = resources.userScopes[issuer, default: []].filter { isVisible($0.resource) }.map(\.scope)
    guard !wanted.isEmpty else { return issuers[issuer]?.scope }
    return ScopeText.union([issuers[issuer]?.scope ?? "openid"] + wanted)
  }

  /// The cookies that are kept.
  package var cookies: [CookiePolicy] { resources.servers.values.compactMap(\.cookies) }

  /// Whether a resource server of that name is configured.
  package func hasResource(_ name: String) -> Bool { resources.servers.index(forKey: name) != nil }

  /// The resource server of that configured name, as far as `scope` shows it.
  package func server(_ name: String, in scope: PeerScope = .everything) throws(RPCFault) -> ResourceServer {
    guard scope.contains(resource: name), let server = resources.server(name) else {
      throw noSuchResource(name, in: scope)
    }
    return server
  }

  /// The issuers' key sets that were used: found by name instead of by all properties of an issuer.
  private let keySources = Locked<[String: RemoteJWKSet]>([:])

  /// The key set of a configured issuer.
  package func keys(of configured: ConfiguredIssuer, in keySets: KeySetStore) -> RemoteJWKSet {
    let name = configured.issuer.name
    if let source = keySources.withLock({ $0[name] }) { return source }
    let source = keySets.source(for: configured.issuer, policy: configured.keySets)
    keySources.withLock { $0[name] = source }
    return source
  }

  /// The issuer of that configured name, as far as `scope` shows it.
  package func issuer(_ name: String, in scope: PeerScope = .everything) throws(RPCFault) -> ConfiguredIssuer {
    guard scope.contains(issuer: name), let issuer = issuers[name] else { throw noSuchIssuer(name, in: scope) }
    return issuer
  }
}

/// The errors for names that are not configured. Each suggests the closest name among those in `scope`: a name that the
/// scope hides is never suggested, since that would reveal it.
extension ConfigurationSnapshot {
  /// A resource that is not configured.
  func noSuchResource(_ name: String, in scope: PeerScope) -> RPCFault {
    // Of a scope with names only those are looked at, however many are configured.
    let known =
      scope.resources.map { AnySequence($0.lazy.filter(hasResource)) } ?? AnySequence(resources.servers.keys)
    return .invalidParams(
      Suggestion.appended(to: "No such resource is configured", for: name, among: known), path: "/resource")
  }

  /// An issuer that is not configured.
  func noSuchIssuer(_ name: String, in scope: PeerScope) -> RPCFault {
    RPCFault(
      .issuerUnknown,
      Suggestion.appended(to: RPCErrorCode.issuerUnknown.summary, for: name, among: issuerNames(in: scope)),
      data: ["path": "/issuer"])
  }

  /// The same, for sessions.
  func noSuchSessionIssuer(_ name: String, in scope: PeerScope) -> SessionError {
    .issuerUnknown(
      Suggestion.appended(to: "no issuer of that name is configured", for: name, among: issuerNames(in: scope)))
  }

  private func issuerNames(in scope: PeerScope) -> AnySequence<String> {
    scope.issuers.map { AnySequence($0.lazy.filter { self.issuers[$0] != nil }) } ?? AnySequence(issuers.keys)
  }
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
      guard let issuer = server.tokens.issuer?.name, let scope = server.tokens.scope else { continue }
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
}

extension AccessRules {
  /// The configuration's `peers`.
  package init(_ peers: [PeerRule]?, ownUID: UInt32, unmapped: UnmappedIDs) {
    let rules = peers?.map { peer in
      Rule(
        uid: peer.uid, gid: peer.gid, methods: Self.names(peer.methods),
        scope: PeerScope(
          resources: peer.resources.flatMap(Self.names), issuers: peer.issuers.flatMap(Self.names),
          preauthorization: peer.preauthorization.flatMap(Self.names)),
        rate: peer.rate.map { RateLimit(perSecond: $0.perSecond, burst: $0.burst) }, concurrency: peer.concurrency)
    }
    self.init(rules: rules, ownUID: ownUID, unmapped: unmapped)
  }

  /// `*` stands for all.
  private static func names(_ names: [String]) -> Set<String>? { names.contains("*") ? nil : Set(names) }
}

extension PosternConfiguration {
  /// How many resources have HTTP/2.
  fileprivate var http2Resources: Int { resources.values.count { $0.http2 } }
}
