import PosternJSON
import PosternJSONRPC
import PosternObservability

/// Records the outcome of a call in the audit log, if there is one.
package struct AuditStep: Sendable {
  let trail: AuditTrail?

  package init(trail: AuditTrail?) { self.trail = trail }

  /// The entry that the call's handler completes; nil when calls of the method are not recorded.
  func entry(for method: String, _ params: JSONTree?, _ narrowing: Narrowing?) -> AuditEntry? {
    trail?.entry(for: method, params, narrowing)
  }

  /// Runs `body` and records how it ended. Rejects a call before it is run if it could not be recorded.
  func recorded(
    _ method: String, _ context: CallContext, _ body: () async -> Result<RPCResult, RPCFault>
  ) async -> Result<RPCResult, RPCFault> {
    guard let trail, let entry = context.audit else { return await body() }
    guard trail.isUsable else { return .failure(AuditTrail.rejection) }
    let outcome = await body()
    return await trail.record(
      entry, method, outcome, isHidden: entry.names(outside: context.runtime.scope), context.caller, context.trace)
  }
}
