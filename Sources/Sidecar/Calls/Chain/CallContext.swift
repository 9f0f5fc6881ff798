package import AuthEngine
import PosternJSONRPC
import PosternObservability
package import PosternSupport

/// The call that a handler carries out: its connection, configuration, deadline, trace and audit entry.
package struct CallContext: Sendable {
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
  package var trace: CallTrace
  /// Reports the requests that the call causes; nil when its trace is not sampled.
  package var tracer: CallTracer?
  /// The descriptors that the call has claimed.
  package let descriptors: ClaimedDescriptors
  /// The call's entry in the audit log; nil when it is not recorded.
  package var audit: AuditEntry?
  /// Whether the call is put to the makers of its endpoints first.
  var needsApproval = false
  /// For whom a person has approved the call; nil where nobody was asked.
  package var approved: ApprovedUser?
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

  package init(_ descriptors: [PassedDescriptor] = []) { claimed = Locked(descriptors) }

  /// Takes them.
  package func take() -> [PassedDescriptor] {
    claimed.withLock { claimed in
      defer { claimed = [] }
      return claimed
    }
  }
}

extension CallContext {
  /// The call as the engine sees it.
  package var scope: CallScope {
    let executor = caller.executor(in: chain.environment.background)
    guard !trace.isNone else { return CallScope(peer: caller.peerID, deadline: deadline, executor: executor) }
    // One text for both.
    let traceparent = trace.traceparent
    var scope = CallScope(
      peer: caller.peerID, deadline: deadline, trace: TraceContext(own: traceparent, tracer: tracer),
      executor: executor)
    scope.label = CallScope.Label(method: method, traceparent: traceparent)
    return scope
  }

  /// The connection that the call came on.
  package var caller: PeerConnection { chain.caller }

  /// The user whose sessions the call may use.
  package var uid: UInt32 { caller.peer.uid }
}
