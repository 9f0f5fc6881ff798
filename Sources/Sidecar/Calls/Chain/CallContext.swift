package import AuthEngine
import PosternJSONRPC
import PosternObservability
package import PosternSupport

/// The call that a handler carries out: its connection, configuration, deadline, trace and audit entry.
///
/// `@unchecked`: the steps of the chain set its variables one after the other, before the handler has it.
package final class CallContext: @unchecked Sendable {
  /// The chain of its connection.
  package let chain: CallChain
  /// The call's number on its connection.
  let key: UInt64
  /// The call's method.
  let method: String
  /// The configuration it runs on from start to end, whatever is reloaded meanwhile, as far as its rule shows it.
  var runtime: VisibleConfiguration
  /// The last level of the chain that the call came through; nil: the peer's rule alone decides.
  package let narrowing: Narrowing?
  /// The bound of `meta.timeoutMs`.
  package let deadline: Deadline
  /// The W3C trace context to pass on upstream.
  package let trace: CallTrace
  /// Reports the requests that the call causes; nil when its trace is not sampled.
  package let tracer: CallTracer?
  /// The call as the engine sees it.
  package let scope: CallScope
  /// The descriptors that the call has claimed; nil: none.
  private let descriptors: ClaimedDescriptors?
  /// The call's entry in the audit log; nil when it is not recorded.
  package var audit: AuditEntry?
  /// Whether the call is put to the makers of its endpoints first.
  var needsApproval = false
  /// For whom a person has approved the call; nil where nobody was asked.
  package var approved: ApprovedUser?

  init(
    _ chain: CallChain, key: UInt64, method: String, _ runtime: VisibleConfiguration, _ narrowing: Narrowing?,
    _ deadline: Deadline, _ trace: (CallTrace, CallTracer?), _ descriptors: ClaimedDescriptors?
  ) {
    self.chain = chain
    self.key = key
    self.method = method
    self.runtime = runtime
    self.narrowing = narrowing
    self.deadline = deadline
    (self.trace, tracer) = trace
    self.descriptors = descriptors
    let executor = chain.caller.executor(in: chain.environment.background)
    guard !trace.0.isNone else {
      scope = CallScope(peer: chain.caller.peerID, deadline: deadline, executor: executor)
      return
    }
    // One text for both.
    let traceparent = trace.0.traceparent
    var scope = CallScope(
      peer: chain.caller.peerID, deadline: deadline, trace: TraceContext(own: traceparent, tracer: trace.1),
      executor: executor)
    scope.label = CallScope.Label(method: method, traceparent: traceparent)
    self.scope = scope
  }
}

/// The user whose request a person was shown, and approved.
package enum ApprovedUser: Sendable, Hashable {
  /// The user of the session with that handle.
  case session(String)
  /// No user: the request has no session.
  case nobody
}

/// The descriptors that a call has claimed, until its handler takes them. What is left is closed with the call.
package final class ClaimedDescriptors: Sendable {
  private let claimed: Locked<[PassedDescriptor]>

  package init(_ descriptors: [PassedDescriptor]) { claimed = Locked(descriptors) }

  /// Takes them.
  package func take() -> [PassedDescriptor] {
    claimed.withLock { claimed in
      defer { claimed = [] }
      return claimed
    }
  }
}

extension CallContext {
  /// Takes the descriptors that the call has claimed.
  func takeDescriptors() -> [PassedDescriptor] { descriptors?.take() ?? [] }

  /// The connection that the call came on.
  package var caller: PeerConnection { chain.caller }

  /// The user whose sessions the call may use.
  package var uid: UInt32 { caller.peer.uid }
}
