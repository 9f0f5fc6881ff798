package import AuthEngine
import Glibc
package import PosternConfiguration
import PosternJSON
package import PosternJSONRPC
import PosternObservability
import PosternProtocol
package import PosternSupport

/// The sidecar's running engine; what it shares outlives a reload.
package typealias Engine = PosternEngine

/// One configuration made ready to run on: the engine's values, the callers' rules, and the answer to `getInfo`.
/// Immutable: a reload makes another.
package final class ConfigurationSnapshot: Sendable {
  /// The engine's values.
  package let values: ConfiguredEngine
  package let access: AccessRules
  /// The answer to `getInfo`, but for what changes by itself.
  package let info: ProcessInfo
  /// Warnings at start: combinations that do not work well, and certificates that expire.
  package var notes: [String] { access.notes + values.notes }

  /// Throws when a value cannot be used after all. Resources that `previous` has just so keep their cookies. Files that
  /// are made when they are missing are made unless it `isTrial`.
  package init(
    _ configuration: PosternConfiguration, _ identity: ProcessIdentity, clock: any EngineClock,
    after previous: ConfigurationSnapshot? = nil, isTrial: Bool = false, replacements: FileReloadMonitor? = nil,
    http2Transport: ConfiguredEngine.HTTP2Transport? = nil
  ) throws(ConfigurationProblems) {
    access = AccessRules(configuration.peers, ownUID: getuid(), unmapped: identity.unmapped)
    let switches = configuration.development.activeSwitches.map { "development.\($0)" }
    let hardening = configuration.hardening
    let protections =
      (hardening.debuggerCheck ? ["hardening.debuggerCheck"] : [])
      + (hardening.coreDumps ? [] : ["hardening.noCoreDumps"])
    info = identity.info(features: Product.features + protections + switches + configuration.outbound.activeExceptions)
    values = try ConfiguredEngine(
      configuration, clock: clock, after: previous?.values, isTrial: isTrial,
      fileReport: { replacements?.file($0, problem: $1) }, http2Transport: http2Transport)
  }

  /// The bounds of one connection.
  package var limits: ConversationLimits {
    let limits = configuration.limits
    var result = ConversationLimits(
      inFlight: limits.inFlightPerConnection, batch: limits.batch, outgoing: limits.inFlightPerConnection,
      messageBytes: limits.messageBytes, depth: limits.depth)
    result.alwaysAdmitted = ProtocolMethods.names(with: .givesRightsUp)
    return result
  }

  /// The bounds on all calls together.
  var callLimits: ConcurrencyLimiter.Limits {
    let limits = configuration.limits
    return ConcurrencyLimiter.Limits(capacity: limits.inFlight, queue: limits.queue, queueTime: limits.queueTime)
  }

  /// The configuration.
  package var configuration: PosternConfiguration { values.configuration }

  /// Whether there are rules of `peers`, and not the one for the sidecar's own user alone.
  var hasPeers: Bool { configuration.peers != nil }

  /// The clients' certificates as they were when the configuration was loaded.
  package var certificates: [ClientCertificate] { values.certificates }

  /// The issuers by name.
  package var issuers: [String: ConfiguredIssuer] { values.issuers }

  /// The decision points by name.
  package var decisionPoints: [String: DecisionPoint] { values.decisionPoints }

  /// Every resource server.
  package var allServers: [ResourceServer] { values.allServers }

  /// The cookies that are kept.
  package var cookies: [CookiePolicy] { allServers.compactMap(\.cookies) }

  /// The resource server of that configured name, as far as `scope` shows it.
  package func server(_ name: String, in scope: PeerScope = .everything) throws(RPCFault) -> ResourceServer {
    guard scope.contains(resource: name), let server = values.server(name) else {
      throw noSuchResource(name, in: scope)
    }
    return server
  }

  /// The issuer of that configured name, as far as `scope` shows it.
  package func issuer(_ name: String, in scope: PeerScope = .everything) throws(RPCFault) -> ConfiguredIssuer {
    guard scope.contains(issuer: name), let issuer = issuers[name] else { throw noSuchIssuer(name, in: scope) }
    return issuer
  }

  /// Finds configured issuers by name, as far as `scope` shows them.
  func issuerLookup(
    _ engine: Engine, in scope: PeerScope = .everything
  ) -> @Sendable (String) throws(SessionError) -> SessionIssuer {
    { [self] (name) throws(SessionError) in
      guard scope.contains(issuer: name), let configured = issuers[name] else {
        throw noSuchSessionIssuer(name, in: scope)
      }
      return try values.sessionIssuer(configured, keysIn: engine.keySets, where: scope.contains(issuer:))
    }
  }
}

/// The errors for names that are not configured. Each suggests the closest name among those in `scope`: a name that the
/// scope hides is never suggested, since that would reveal it.
extension ConfigurationSnapshot {
  /// A resource that is not configured.
  func noSuchResource(_ name: String, in scope: PeerScope) -> RPCFault {
    // Of a scope with names only those are looked at, however many are configured.
    let known =
      scope.resources.map { AnySequence($0.lazy.filter(values.hasResource)) } ?? AnySequence(values.resourceNames)
    return .invalidParams(
      Suggestion.appended(to: "No such resource is configured", for: name, among: known.lazy.filter { $0 != name }),
      path: "/resource")
  }

  /// An issuer that is not configured.
  func noSuchIssuer(_ name: String, in scope: PeerScope) -> RPCFault {
    RPCFault(
      .issuerUnknown,
      Suggestion.appended(to: ErrorCode.issuerUnknown.summary, for: name, among: issuerNames(in: scope)),
      path: "/issuer")
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
