package import PosternJSON
package import PosternJSONRPC
import PosternObservability
import PosternProtocol
import PosternSupport

/// Carries out the calls of one connection. A call passes these steps, each of them a file of this folder:
///
/// 1. authorization: the rule of `peers` for the connection's peer (`AccessRules`) and every level of the connection's
///    chain of endpoints (`Narrowing`) have to allow the method;
/// 2. rate limits of the chain and of the peer (`RateLimitStep`), which count calls that other steps reject as well;
/// 3. concurrency limits of the chain and of the peer (`ConcurrencyStep`);
/// 4. trace (`TraceStep`);
/// 5. audit (`AuditStep`): without a usable audit log nothing is done that has to be recorded;
/// 6. approvals (`ApprovalStep`) of the makers of the endpoints that the call came through, which may wait;
/// 7. concurrency limit of all calls (`ConcurrencyStep`), which may wait;
/// 8. deadline (`DeadlineStep`);
/// 9. the method's handler (`MethodTable`);
/// 10. metrics and log (`CallEnd`).
///
/// Calls of methods that never wait are answered where they were read, and pass steps 1, 2, 9 and 10 only. So are calls
/// whose method has its answer at once, if no step has to wait.
package final class CallChain: CallDispatcher {
  let caller: PeerConnection
  let environment: CallEnvironment

  package init(caller: PeerConnection, environment: CallEnvironment) {
    self.caller = caller
    self.environment = environment
  }

  /// What carries out a call that came in no message.
  package struct Replacement: Sendable {
    /// Runs instead of the method's handler.
    var body: MethodTable.WaitingHandler
    /// Begins the call where it came; nil: it has a task.
    var attempt: MethodTable.Attempt?
    /// Shows the call to people; nil: as the method does.
    var preview: MethodTable.Preview?
  }

  package func dispatch(_ call: Call) -> Dispatch { dispatch(call, by: nil) }

  /// Dispatches a call that came in no message, by the same steps: `replacement` is run instead of the method's handler,
  /// which has to be one that may wait.
  package func dispatch(_ call: Call, by replacement: Replacement?) -> Dispatch {
    let handler = environment.methods[call.method]
    let end = CallEnd(of: call, isKnown: handler != nil, from: caller, environment)
    let snapshot = environment.snapshot()
    let rule = snapshot.access.rule(for: caller.peer)
    let narrowing = caller.narrowing
    if narrowing?.isOver(at: end.start) == true { return forbidden(call.method, Self.over, end) }
    var traceparent: String?
    do throws(RPCFault) {
      if !RateLimitStep.takesFreeCall(call.method, of: caller) {
        try environment.rateLimit.admit(narrowing, at: end.start)
        try environment.rateLimit.admit(call.method, rule, caller.peer)
      }
      guard let handler else {
        throw environment.methods.notFound(call.method, for: rule, narrowing)
      }
      guard let rule, rule.allows(method: call.method) else {
        return forbidden(call.method, snapshot.access.missingRule(for: caller.peer, method: call.method), end)
      }
      guard narrowing?.allows(method: call.method) ?? true else {
        return forbidden(call.method, Self.notAllowed(call.method), end)
      }
      guard caller.stays || !ProtocolMethods.traits(of: call.method).contains(.needsConnection) else {
        throw Self.needsConnection(call.method)
      }
      guard !call.isUnread else { throw .overloaded("Too many calls of this user at one time") }
      let (meta, params) = try CallMeta.split(call.params)
      switch handler {
      case .immediate(let body):
        traceparent = meta.traceparent
        let context = context(of: call, meta, rule, snapshot, narrowing)
        return .answered(end.report(.success(try body(params, context))))
      case .waiting(let body, let attempt):
        let slot = try environment.concurrency.takeSlot(for: call.method, params, rule, caller, narrowing)
        let trace = environment.trace.start(call.method, continuing: meta.traceparent, since: end.start)
        let context = context(of: call, meta, rule, snapshot, narrowing, trace)
        context.audit = environment.audit.entry(for: call.method, params, narrowing)
        context.needsApproval = environment.approval.requires(call.method, through: narrowing)
        // A long text is read where that harms no other call.
        if let attempt = replacement.map(\.attempt) ?? attempt, !call.mustWait,
          call.byteCount < JSONRPCConnection.longText,
          let dispatch = atOnce(attempt, params, context, slot, end)
        {
          return dispatch
        }
        return work(
          call.method, CallParams(params), replacement?.body ?? body,
          replacement?.preview ?? environment.methods.preview(of: call.method), context, slot, end)
      }
    } catch {
      // Only an error shows its trace: such a call causes nothing upstream.
      return .answered(end.report(.failure(error), environment.trace.trace(continuing: traceparent)))
    }
  }

  /// The context of a call, not recorded yet.
  func context(
    of call: Call, _ meta: CallMeta, _ rule: AccessRules.Rule, _ snapshot: ConfigurationSnapshot,
    _ narrowing: Narrowing?, _ trace: (CallTrace, CallTracer?) = (.none, nil)
  ) -> CallContext {
    CallContext(
      self, key: call.key, method: call.method,
      VisibleConfiguration(snapshot, scope: narrowing?.scope(within: rule.scope) ?? rule.scope), narrowing,
      meta.timeoutMs.map { Deadline(in: .milliseconds($0), on: environment.clock) } ?? .never, trace,
      call.descriptors.isEmpty ? nil : ClaimedDescriptors(call.descriptors))
  }

  /// Begins a call that no step has to wait for, and answers it if its method need not wait either; nil if a step has to
  /// wait.
  private func atOnce(
    _ attempt: MethodTable.Attempt, _ params: JSONTree?, _ context: CallContext, _ slot: ConcurrencyStep.Slot,
    _ end: CallEnd
  ) -> Dispatch? {
    guard context.audit == nil, !context.needsApproval, environment.concurrency.tryEnter(caller, slot) else {
      return nil
    }
    let outcome: Result<RPCResult, RPCFault>
    do throws(RPCFault) {
      switch try attempt(params, context) {
      case .answered(let result): outcome = .success(result)
      case .begun(let call):
        return .begun(CountedCall(environment.deadline.bounded(context, call), context, slot, end))
      case .waits(let rest):
        environment.concurrency.leave(caller, slot)
        let body: MethodTable.WaitingHandler = { (_, _) async throws(RPCFault) in try await rest() }
        return work(context.method, CallParams(nil), body, nil, context, slot, end)
      }
    } catch {
      outcome = .failure(error)
    }
    environment.concurrency.leave(caller, slot)
    return .answered(ended(outcome, context, slot, end))
  }

  /// Gives the call's slot back, and reports its end.
  fileprivate func ended(
    _ outcome: Result<RPCResult, RPCFault>, _ context: CallContext, _ slot: ConcurrencyStep.Slot, _ end: CallEnd
  ) -> Result<RPCResult, RPCFault> {
    environment.concurrency.giveBack(slot)
    context.tracer?.callEnded(context.method, outcome, caller, context.trace)
    return end.report(outcome, context.trace)
  }

  /// The steps that may wait. Does not keep the call, which would keep its params until the end.
  private func work(
    _ method: String, _ params: CallParams, _ body: @escaping MethodTable.WaitingHandler,
    _ preview: MethodTable.Preview?, _ context: CallContext, _ slot: ConcurrencyStep.Slot, _ end: CallEnd
  ) -> Dispatch {
    .work { [caller, environment] in
      let outcome = await environment.audit.recorded(method, context) {
        await environment.approval.whenApproved(method, params, preview, context) {
          await environment.concurrency.whenFree(context, slot) {
            await environment.deadline.bounded(context) { () throws(RPCFault) in
              // While the call waited its endpoint may have ended.
              guard context.narrowing?.isOver(at: environment.clock.monotonicNow) != true else {
                throw RPCFault(.peerForbidden, Self.over, outcome: .notSent, isRetryable: false)
              }
              // While a person was asked, a reload may have taken the caller's right.
              if context.needsApproval {
                let access = environment.snapshot().access
                guard let rule = access.rule(for: caller.peer), rule.allows(method: method) else {
                  throw RPCFault(.peerForbidden, access.missingRule(for: caller.peer, method: method))
                }
                context.runtime = context.runtime.seen(
                  through: context.narrowing?.scope(within: rule.scope) ?? rule.scope)
              }
              return try await body(params, context)
            }
          }
        }
      }
      environment.concurrency.giveBack(slot)
      context.tracer?.callEnded(method, outcome, caller, context.trace)
      // A long result takes long to write, which its size in the log requires.
      return await environment.pool.run(for: caller, if: environment.log.measures(outcome)) {
        end.report(outcome, context.trace)
      }
    }
  }

  /// Why a chain does not allow a method.
  static func notAllowed(_ method: String) -> String { "This endpoint may not call \(method)" }

  /// The error of a call over HTTP that is of no use there.
  private static func needsConnection(_ method: String) -> RPCFault {
    RPCFault(
      .invalidRequest,
      "\(method) needs a JSON-RPC connection that stays (the same socket, without HTTP): over HTTP there are no events "
        + "and no delegates",
      outcome: .notSent, isRetryable: false)
  }

  /// Why a chain allows nothing.
  static let over = "This endpoint has been revoked, or its time is over"

  /// Rejects a call that `peers` or the chain does not allow, and records that.
  private func forbidden(_ method: String, _ reason: String, _ end: CallEnd) -> Dispatch {
    let fault = RPCFault(.peerForbidden, reason)
    let outcome = Result<RPCResult, RPCFault>.failure(fault)
    let trace = environment.trace.trace(continuing: nil)
    guard let trail = environment.audit.trail else { return .answered(end.report(outcome, trace)) }
    return .work { [caller] in
      await trail.rejected(method, caller)
      return end.report(outcome, trace)
    }
  }

  /// Whether a call that came through `narrowing` may also call `method`: for a method that has the same effect.
  package func allows(_ method: String, through narrowing: Narrowing?) -> Bool {
    environment.snapshot().access.rule(for: caller.peer)?.allows(method: method) == true
      && narrowing?.allows(method: method) ?? true
  }

  /// Applies the rules of `dispatch` without counting the call.
  package func rejects(method: String) -> Bool {
    guard let rule = environment.snapshot().access.rule(for: caller.peer), rule.allows(method: method),
      environment.methods[method] != nil
    else { return true }
    if let narrowing = caller.narrowing {
      let now = environment.clock.monotonicNow
      guard !narrowing.isOver(at: now), narrowing.allows(method: method) else { return true }
      if !RateLimitStep.isFree(method, of: caller), narrowing.wouldReject(at: now) { return true }
    }
    guard !RateLimitStep.isFree(method, of: caller) else { return false }
    return environment.rateLimit.wouldReject(method, rule, caller.peer)
  }

  package func bindsWhatFollows(_ method: String) -> Bool { method == Narrow.name }

  package func descriptorCount(of method: String, _ params: JSONTree?) -> Int {
    method == FetchResource.name ? FetchResource.descriptorCount(params) : 0
  }

  package func rejectedMessage(_ reason: String) {
    environment.log.connections.rejectedMessage(caller.connection, of: caller.peer, why: reason)
  }

  /// Counts a call that the connection rejected without reading it.
  package func rejectedUnread() {
    environment.rateLimit.countUnread(
      environment.snapshot().access.rule(for: caller.peer), caller.peer, caller.narrowing,
      at: environment.clock.monotonicNow)
    environment.log.rejectedUnread(caller)
  }
}

/// A call that has its slots and runs without a task: counts its end.
private final class CountedCall: BegunCall {
  private let call: any BegunCall
  private let context: CallContext
  private let slot: ConcurrencyStep.Slot
  private let callEnd: CallEnd

  init(_ call: any BegunCall, _ context: CallContext, _ slot: ConcurrencyStep.Slot, _ end: CallEnd) {
    self.call = call
    self.context = context
    self.slot = slot
    callEnd = end
  }

  func run(_ end: @escaping @Sendable (Result<RPCResult, RPCFault>) -> Void) {
    call.run { [self] outcome in
      let chain = context.chain
      chain.environment.concurrency.leave(chain.caller, slot)
      end(chain.ended(outcome, context, slot, callEnd))
    }
  }

  func cancel() { call.cancel() }
}
