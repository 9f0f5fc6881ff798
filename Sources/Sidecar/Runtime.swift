import AuthEngine
import Configuration
import Glibc
import HTTPMessages
import JSON
import JSONRPC
import Protocol
import Support

/// One configuration made ready to run on. Immutable: a reload makes another.
final class Runtime: Sendable {
  let configuration: PosternConfiguration
  let access: AccessRules
  let limits: SessionLimits
  /// The bounds on all calls together.
  let callLimits: FairGate.Limits
  /// The answer to `getInfo`, but for what changes by itself.
  let info: ProcessInfo
  /// What the configuration asks for and this release does not do, and certificates that expire; said at start.
  let notes: [String]
  /// The clients' certificates as they were when the configuration was loaded.
  let certificates: [ClientCertificate]
  /// What callers may bring along to have a token validated.
  let validation: ValidationRules
  private let servers: [String: ResourceServer]
  let issuers: [String: ConfiguredIssuer]
  /// The decision points' devices.
  let deviceIdentifiers: [String: Secret<String>]
  private let payloadKeys: [String: PayloadKeys]
  /// The decision points that can be asked.
  let decisionPoints: [String: DecisionPoint]

  /// Throws when a value cannot be used after all. Resources that `previous` has just so keep their cookies. Files that are made when they
  /// are missing are made unless it `isTrial`.
  init(
    _ configuration: PosternConfiguration, _ identity: ProcessIdentity, clock: any EngineClock,
    after previous: Runtime? = nil, isTrial: Bool = false, replacements: Replacements? = nil
  ) throws(ConfigurationProblems) {
    self.configuration = configuration
    access = AccessRules(configuration.peers, ownUID: getuid())
    limits = SessionLimits(
      inFlight: configuration.limits.inFlightPerConnection, batch: configuration.limits.batch,
      outgoing: configuration.limits.inFlightPerConnection,
      messageBytes: configuration.limits.messageBytes, depth: configuration.limits.depth)
    callLimits = FairGate.Limits(
      inFlight: configuration.limits.inFlight, queue: configuration.limits.queue,
      patience: configuration.limits.queueTime)
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
      FeatureSupport(configuration).notes + certificates.compactMap { $0.warning(at: now) }
      + devices.sorted { $0.key < $1.key }.compactMap { $0.value.note(of: $0.key) }
    deviceIdentifiers = devices.mapValues(\.value)
    let assembly = EngineAssembly(configuration, clock: clock)
    issuers = try assembly.issuers(after: previous)
    var servers = try assembly.servers(of: issuers)
    for (name, resource) in configuration.resources where previous?.configuration.resources[name] == resource {
      servers[name]?.cookies = previous?.servers[name]?.cookies
    }
    self.servers = servers
    decisionPoints = try assembly.decisionPoints(of: issuers, devices, after: previous)
    validation = try assembly.validation()
    payloadKeys = try assembly.payloadKeys(replacements)
  }

  /// Every resource server.
  var allServers: [ResourceServer] { Array(servers.values) }

  /// The cookies that are kept.
  var cookies: [CookiePolicy] { servers.values.compactMap(\.cookies) }

  /// The resource server of that configured name.
  func server(_ name: String) throws(RPCFault) -> ResourceServer {
    guard var server = servers[name] else { throw .invalidParams("No such resource is configured", path: "/resource") }
    server.payloadEncryption = payloadKeys[name]?.current
    return server
  }

  /// The issuers' key sets as they have been asked for: found by name instead of by everything an issuer is.
  private let keySources = Locked<[String: PublishedKeySource]>([:])

  /// The key set of a configured issuer.
  func keys(of configured: ConfiguredIssuer, in keySets: KeySetStore) -> PublishedKeySource {
    let name = configured.issuer.name
    if let source = keySources.withLock({ $0[name] }) { return source }
    let source = keySets.source(for: configured.issuer, policy: configured.keySets)
    keySources.withLock { $0[name] = source }
    return source
  }

  /// The issuer of that configured name.
  func issuer(_ name: String) throws(RPCFault) -> ConfiguredIssuer {
    guard let issuer = issuers[name] else { throw RPCFault(.issuerUnknown, data: ["path": "/issuer"]) }
    return issuer
  }
}

extension AccessRules {
  /// The configuration's `peers`.
  init(_ peers: [PeerRule]?, ownUID: UInt32) {
    let rules = peers?.map { peer in
      Rule(
        uid: peer.uid, gid: peer.gid, methods: Self.names(peer.methods), resources: peer.resources.flatMap(Self.names),
        rate: peer.rate.map { Rate(perSecond: $0.perSecond, burst: $0.burst) }, concurrency: peer.concurrency)
    }
    self.init(rules: rules, ownUID: ownUID)
  }

  /// `*` stands for all.
  private static func names(_ names: [String]) -> Set<String>? { names.contains("*") ? nil : Set(names) }
}
