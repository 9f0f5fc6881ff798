import AuthEngine
import HTTPMessages
import PosternJSON
import PosternJSONRPC
import PosternProtocol
import PosternSupport
import SidecarAccess
import SidecarCalls
import SidecarEngine
import SidecarObservability

extension FetchResourceHandler {
  /// Continues a fetch that was suspended at an advice: with the original request, on the current configuration.
  func resume(
    _ continuation: String, _ params: FetchResource.Params, _ descriptors: [PassedDescriptor], _ context: CallContext
  ) async throws(RPCFault) -> JSONText {
    if let other = params.excludedByContinuation {
      throw .invalidParams("continuation excludes \(other)", path: "/\(other)")
    }
    let timeout = try Self.timeout(params)
    let unknown = RPCFault(.continuationUnknown, data: ["path": "/continuation"])
    guard let known = stopped.fetch(continuation, of: context.uid), context.runtime.shows(known) else {
      throw unknown
    }
    let server = try server(known.origin.resource, context).applying(known.origin.options)
    guard server.locations.baseURL == known.origin.baseURL else { throw unknown }
    let session = try await engine.session(known.session.text, .user, server.tokens.issuer, context)
    context.audit?.note(server, session)
    let bodies = try await bodies(params, descriptors, known.origin.options, server)
    // Before it is taken, so that a call that is rejected here can be retried.
    guard tasks.running(known.origin.task, of: context.uid) == nil else { throw Self.taskIsRunning }
    guard let taken = stopped.take(continuation, of: context.uid) else { throw unknown }
    let fetch = taken.value
    var options = fetch.origin.options
    options.session = session
    options.context.deadline = context.deadline
    options.timeout = timeout ?? options.timeout
    options.context.trace = context.traceContext
    do throws(RPCFault) {
      return try await carryOut(
        fetch.origin.request, server, options, fetch.origin.task, stream: bodies == nil ? fetch.origin.stream : nil,
        bodies, progress: fetch.progress, context)
    } catch {
      // What the user has agreed to is as good as it was, unless the fetch waits under another continuation already.
      if error.data["outcome"] == .string(TransportError.Outcome.notSent.rawValue), error.data["continuation"] == nil {
        stopped.putBack(taken)
      }
      throw error
    }
  }

  /// The delegate that satisfies the fetch's advice, and the store of the fetch meanwhile.
  func advice(
    _ rules: AdviceRules, _ origin: SuspendedFetches.Origin, _ progress: AdviceProgress?, mayContinue: Bool,
    by deadline: Deadline, _ context: CallContext
  ) -> FetchAdvice {
    FetchAdvice(
      delegate: PolicyDelegate(
        caller: context.caller, task: origin.task, patience: rules.wait, deadline: deadline, clock: clock, trail: trail),
      consultsDelegate: context.caller.delegate(for: .evaluateAuthorizationPolicy) != nil, progress: progress,
      delegateID: context.caller.delegate(for: .onPolicyAdviceReceived) == nil ? nil : context.caller.connection,
      hold: { [stopped] stop in
        guard mayContinue, let session = stop.session else { return nil }
        return stopped.hold(
          SuspendedFetches.Fetch(origin: origin, session: session, advices: stop.advices, progress: stop.progress))
      },
      release: { [stopped] in stopped.release($0) },
      extend: { [stopped] in stopped.stop($0, of: origin.uid) },
      // The delegate may come back on another connection.
      abandon: { [stopped, caller = context.caller] in
        if caller.conversation != nil { stopped.release($0) }
      })
  }
}
