import AuthEngine
import HTTPMessages
import PosternJSON
import PosternJSONRPC
import PosternObservability
import PosternProtocol
import PosternSupport

extension FetchResourceHandler {
  /// Continues a fetch that was suspended at an advice: with the original request, on the current configuration.
  func resume(
    _ continuation: String, _ params: FetchResource.Params, _ descriptors: [PassedDescriptor], _ context: CallContext
  ) async throws(RPCFault) -> Written<FetchResource.Result> {
    if let other = params.excludedByContinuation {
      throw .invalidParams("continuation excludes \(other)", path: "/\(other)")
    }
    let timeout = try Self.timeout(params)
    let found = try await suspended(continuation, context)
    let options = found.known.origin.options
    let bodies = try await bodies(params, descriptors, options, found.server)
    return try await resume(continuation, found, timeout: timeout, context) { (fetch) async throws(RPCFault) in
      var fetch = fetch
      if bodies != nil || !context.caller.stays { fetch.stream = nil }
      return try await carryOut(fetch, bodies, context)
    }
  }

  private static let unknown = RPCFault(.continuationUnknown, path: "/continuation")

  /// A suspended fetch with its server and session in the current configuration.
  struct Suspended {
    let known: SuspendedFetches.Fetch
    let server: ResourceServer
    let session: SessionRef?
  }

  /// The fetch that the caller can continue under `continuation`; it stays suspended.
  func suspended(_ continuation: String, _ context: CallContext) async throws(RPCFault) -> Suspended {
    guard let known = stopped.fetch(continuation, of: context.uid), context.shows(known) else {
      throw Self.unknown
    }
    let server = try server(known.origin.resource, known.origin.options, context)
    var fetch = known.origin.options
    fetch.narrowing = context.narrowing?.id
    try context.check(known.origin.request, to: server, fetch)
    guard server.baseURL == known.origin.baseURL else { throw Self.unknown }
    let session = try await engine.session(known.session.text, .user, server.issuer, context)
    context.audit?.note(server, session)
    return Suspended(known: known, server: server, session: session)
  }

  /// Takes a suspended fetch, and continues it by `body`.
  func resume<Outcome>(
    _ continuation: String, _ found: Suspended, timeout: Duration? = nil, _ context: CallContext,
    _ body: (Fetch) async throws(RPCFault) -> Outcome
  ) async throws(RPCFault) -> Outcome {
    // Before it is taken, so that a call that is rejected here can be retried.
    guard !tasks.isRunning(found.known.origin.task, of: context.uid, through: context.narrowing) else {
      throw Self.taskIsRunning
    }
    guard let taken = stopped.take(continuation, of: context.uid) else { throw Self.unknown }
    let origin = taken.value.origin
    var options = origin.options
    options.session = found.session
    options.scope = context.scope
    options.narrowing = context.narrowing?.id
    options.timeout = timeout ?? options.timeout
    do throws(RPCFault) {
      return try await body(
        Fetch(
          request: origin.request, server: found.server, options: options, task: origin.task, stream: origin.stream,
          progress: taken.value.progress))
    } catch {
      // What the user has agreed to is as good as it was, unless the fetch waits under another continuation already.
      if error.outcome == .notSent, error.continuation == nil { stopped.putBack(taken) }
      throw error
    }
  }

  /// The delegate that satisfies the fetch's advice, and the store of the fetch meanwhile.
  func advice(
    _ rules: AdviceRules, _ origin: SuspendedFetches.Origin, of fetch: Fetch, by deadline: Deadline,
    _ context: CallContext
  ) -> FetchAdvice {
    let delegate = PolicyDelegate(
      caller: context.caller, task: origin.task, patience: rules.wait, deadline: deadline, clock: clock, trail: trail,
      mayMove: !context.boundsFetches)
    var advice = FetchAdvice(
      delegate: delegate,
      consultsDelegate: context.caller.delegate(for: .evaluateAuthorizationPolicy) != nil, progress: fetch.progress,
      delegateID: context.caller.delegate(for: .onPolicyAdviceReceived) == nil ? nil : context.caller.connection,
      hold: { [stopped] stop in
        guard fetch.mayContinue, let session = stop.session else { return nil }
        var origin = origin
        if let wholeBody = fetch.wholeBody {
          guard let body = await wholeBody() else { return nil }
          origin.request = origin.request.with(body: body)
        }
        return stopped.hold(
          SuspendedFetches.Fetch(origin: origin, session: session, advices: stop.advices, progress: stop.progress))
      },
      release: { [stopped] in stopped.release($0) },
      extend: { [stopped] in stopped.stop($0, of: origin.uid) },
      // The delegate may come back on another connection.
      abandon: { [stopped, caller = context.caller] in
        if caller.conversation != nil { stopped.release($0) }
      })
    // By the rules for the session of a call: the delegate can name none that the call could not.
    advice.newSession = { [engine, server = fetch.server] in
      // Who approved the call was shown that it is nobody's.
      guard !context.needsApproval, let text = delegate.newSession.withLock({ $0 }) else { return nil }
      guard let session = try? await engine.session(text, .user, server.issuer, context), let handle = session.handle,
        (try? await engine.visibleSession(handle, context)) != nil
      else { return nil }
      context.audit?.note(server, session)
      return session
    }
    return advice
  }
}
