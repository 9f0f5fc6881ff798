package import AuthEngine
package import HTTPMessages
package import PosternConfiguration
package import PosternJSONRPC
import PosternObservability
import PosternProtocol
import PosternSupport

/// The running configuration as one call sees it: without what the rule that let the call in hides.
///
/// Handlers have no other access to the configuration, so a hidden name is reported as one that is not configured, by
/// the same code.
package struct VisibleConfiguration: Sendable {
  /// The part of the configuration that the rule shows.
  package let scope: PeerScope
  private let runtime: ConfigurationSnapshot

  package init(_ runtime: ConfigurationSnapshot, scope: PeerScope) {
    self.runtime = runtime
    self.scope = scope
  }

  /// The same configuration, with what another rule shows of it.
  package func seen(through scope: PeerScope) -> VisibleConfiguration { VisibleConfiguration(runtime, scope: scope) }

  /// The answer to `getInfo`, but for what changes by itself.
  package var info: ProcessInfo { runtime.info }

  /// The keys and key sets that callers may pass to validate a token.
  package var validation: ValidationRules { runtime.values.validation }

  /// Whether tokens may leave the sidecar.
  var letsTokensLeave: Bool { runtime.configuration.tokens.leaveTheSidecar }

  /// Whether nothing is fetched while a debugger is attached.
  var checksForDebugger: Bool { runtime.configuration.hardening.debuggerCheck }

  /// The outbound proxy.
  package var outboundProxy: OutboundProxy? { runtime.values.outboundProxy }

  /// The bounds on all calls together.
  var callLimits: ConcurrencyLimiter.Limits { runtime.callLimits }

  /// The resource that is meant when a call names none: the only one.
  var onlyResource: String? { Self.only(runtime.allServers.lazy.map(\.name).filter(scope.contains(resource:))) }

  /// The resource server of that configured name.
  package func server(_ name: String) throws(RPCFault) -> ResourceServer {
    try runtime.server(name, in: scope)
  }

  /// Throws what a resource that is not configured is answered with, also for one that the rule hides.
  package func check(resource name: String) throws(RPCFault) {
    guard scope.contains(resource: name), runtime.values.hasResource(name) else {
      throw runtime.noSuchResource(name, in: scope)
    }
  }

  /// The error for a resource that is not configured, for one that the call may not use so.
  func noSuchResource(_ name: String) -> RPCFault { runtime.noSuchResource(name, in: scope) }

  /// The rule of `peers` for `peer`.
  package func rule(of peer: Peer) -> AccessRules.Rule? { runtime.access.rule(for: peer) }

  /// The resource servers that the rule hides.
  var hiddenServers: [ResourceServer] { runtime.allServers.filter { !scope.contains(resource: $0.name) } }

  /// The issuer of that configured name.
  package func issuer(_ name: String) throws(RPCFault) -> ConfiguredIssuer {
    try runtime.issuer(name, in: scope)
  }

  /// The scope of a login at the issuer of that name that does not name one. What is hidden adds nothing to it.
  package func loginScope(of issuer: String) -> String? {
    runtime.values.loginScope(of: issuer, where: scope.contains(resource:))
  }

  /// The issuer of the inbound tokens that are exchanged for a resource's tokens, also where the rule hides the issuer:
  /// the caller has such a token.
  package func inboundIssuer(of server: ResourceServer) -> ConfiguredIssuer? {
    runtime.values.inboundIssuer(of: server.name)
  }

  /// The key set of an issuer.
  package func keys(of configured: ConfiguredIssuer, in keySets: KeySetStore) -> RemoteJWKSet {
    runtime.values.keys(of: configured, in: keySets)
  }

  /// The access manager behind the issuer of a resource, also where the rule hides the issuer: its cookie stays
  /// reserved.
  package func accessManager(behind server: ResourceServer) -> AccessManager? {
    server.issuer.flatMap { runtime.issuers[$0.name]?.accessManager }
  }

  /// Finds configured issuers by name; `hidden` is the error for one that the rule hides, else that of one that is not
  /// configured.
  func issuerLookup(
    _ engine: Engine, hidden: SessionError? = nil
  ) -> @Sendable (String) throws(SessionError) -> SessionIssuer {
    let lookup = runtime.issuerLookup(engine, in: scope)
    guard let hidden else { return lookup }
    return { [scope] (name) throws(SessionError) in
      guard scope.contains(issuer: name) else { throw hidden }
      return try lookup(name)
    }
  }

  /// The decision point of that name; without a name the only one.
  package func decisionPoint(_ name: String?) -> Result<DecisionPoint, DecisionPointError> {
    runtime.values.decisionPoint(name, where: scope.contains(decisionPoint:))
  }

  /// Whether decisions may be known here that the rule hides.
  var hidesDecisions: Bool { scope.preauthorization != nil || scope.issuers != nil }

  /// The names of the decision points whose decisions are the caller's to see: neither they nor their issuers are
  /// hidden.
  var ownDecisionPoints: [String] {
    runtime.decisionPoints.values.filter { point in
      scope.contains(decisionPoint: point.name) && point.settings.issuer.map(scope.contains(issuer:)) ?? true
    }.map(\.name)
  }

  private static func only(_ names: some Sequence<String>) -> String? {
    var names = names.makeIterator()
    guard let first = names.next(), names.next() == nil else { return nil }
    return first
  }
}
