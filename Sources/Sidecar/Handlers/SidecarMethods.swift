import AuthEngine
import PosternJSON
import PosternJSONRPC
import PosternObservability
import PosternProtocol
import PosternSupport

/// All methods of this build with their handlers. A new method is entered here.
struct SidecarMethods {
  let engine: Engine
  let health: HealthReporter
  let exposition: MetricsExposition
  let reloader: ConfigurationReloader
  let hardening: HardeningWatch
  let suspended: SuspendedFetches
  let pool: FairPool
  let trail: AuditTrail?
  let isTraced: @Sendable () -> Bool
  let clock: any EngineClock

  private var computation: CPUOffload { CPUOffload(clock: clock, pool: pool) }

  /// The handler of fetches, whose tasks are those of the table.
  func fetching() -> FetchResourceHandler {
    FetchResourceHandler(
      engine: engine, tasks: TaskRegistry(clock: clock), stopped: suspended, pool: pool, clock: clock,
      isTraced: isTraced, trail: trail)
  }

  /// The table of methods.
  func table(_ fetch: FetchResourceHandler) -> MethodTable {
    let lists = ListAnswers(computation: computation)
    var table = MethodTable()
    addProcessMethods(to: &table)
    addConnectionMethods(to: &table)
    table.beginningText(FetchResource.self) { (params: consuming FetchResource.Params, context) throws(RPCFault) in
      try fetch.begin(params, context)
    }
    table.shows(FetchResource.self) { (params, context) async throws(RPCFault) in
      try await fetch.preview(params, context)
    }
    addDecisionMethods(to: &table)
    addExplanations(fetch, to: &table)
    addTaskMethods(fetch.tasks, lists, to: &table)
    addTokenMethods(to: &table)
    addSessionMethods(lists, to: &table)
    addAdviceMethods(to: &table)
    PassHandlers(engine: engine).add(to: &table)
    EndpointHandlers(endpoints: exposition.endpoints, lists: lists) {
      [engine] (params, context) async throws(RPCFault) in try await engine.sessionOfEndpoint(params, context)
    }.add(to: &table)
    return table
  }

  private func addProcessMethods(to table: inout MethodTable) {
    table.prepared(Discover.self) { _ in Product.openRPCText }
    table.prepared(GetInfo.self) { [hardening] in hardening.answer($0.runtime.info) }
    table.waiting(Health.self) { [health] (_, context) async throws(RPCFault) in
      await health.settledReport(for: context.runtime.scope, by: context.deadline)
    }
    table.immediate(Metrics.self) { [exposition] (_, context) throws(RPCFault) in
      Metrics.Result(text: exposition.text(for: context.runtime.scope))
    }
    table.waiting(ReloadConfig.self) { [reloader] (_, context) async throws(RPCFault) in
      // Reads files: not on the thread that serves connections.
      let uid = context.caller.peer.uid
      let outcome = await Task.detached { Result { () throws(ReloadFailure) in try reloader.reload(for: uid) } }.value
      do throws(ReloadFailure) {
        return ReloadConfig.Result(changed: try outcome.get())
      } catch {
        throw ErrorMap.fault(error, for: context.runtime.scope)
      }
    }
  }

  private func addConnectionMethods(to table: inout MethodTable) {
    table.immediate(Subscribe.self) { [health] (params, context) throws(RPCFault) in
      if params.events.contains(.healthChanged) { health.wantReadiness() }
      return Subscribe.Result(subscribed: context.caller.events { $0.formUnion(params.events) })
    }
    table.immediate(Unsubscribe.self) { (params, context) throws(RPCFault) in
      Subscribe.Result(subscribed: context.caller.events { $0.subtract(params.events) })
    }
    table.immediate(Narrow.self) { [clock, endpoints = exposition.endpoints] (params, context) throws(RPCFault) in
      try context.narrow(to: params, at: clock.monotonicNow) { () throws(RPCFault) in
        try endpoints.count(params, of: context.caller)
      }
      return NoParams()
    }
    table.immediate(RegisterDelegate.self) { (params, context) throws(RPCFault) in
      let registered = Set(params.methods)
      context.caller.register(registered)
      return RegisterDelegate.Result(registered: DelegateMethod.allCases.filter(registered.contains))
    }
  }

  private func addDecisionMethods(to table: inout MethodTable) {
    let preauthorize = PreauthorizeHandler(engine: engine)
    table.waitingForText(Preauthorize.self) { (params, context) async throws(RPCFault) in
      try await preauthorize(params, context)
    }
    let invalidate = InvalidateDecisionsHandler(engine: engine)
    table.waiting(InvalidateDecisions.self) { (params, context) async throws(RPCFault) in
      try await invalidate(params, context)
    }
  }

  private func addExplanations(_ fetch: FetchResourceHandler, to table: inout MethodTable) {
    let (tokens, decisions) = (
      AccessTokenHandler(engine: engine, computation: computation), PreauthorizeHandler(engine: engine)
    )
    let explain = ExplainHandler(
      engine: engine, computation: computation, hardening: hardening,
      checks: ExplainHandler.Checks(
        fetch: { (params, context) async throws(RPCFault) in try await Self.check(params, context, by: fetch) },
        token: tokens.check, decisions: decisions.check,
        session: { [engine] (text, context) async throws(RPCFault) in
          let handle = try SessionHandle.given(text)
          do throws(SessionError) {
            return try await engine.visibleSession(handle, context)
          } catch {
            throw ErrorMap.fault(error)
          }
        },
        sessionIssuer: { [engine] (name, context) throws(RPCFault) in
          _ = try context.runtime.sessionIssuer(name, engine)
        }))
    table.waiting(ExplainCall.self) { (params, context) async throws(RPCFault) in try await explain(params, context) }
  }

  /// The fetch of `params` as a call would carry it out, up to its first request; nil for one that continues another.
  private static func check(
    _ params: JSONTree?, _ context: CallContext, by handler: FetchResourceHandler
  ) async throws(RPCFault) -> CheckedFetch? {
    var params = try MethodTable.decode(FetchResource.Params.self, params)
    try handler.checkForDebugger(context)
    guard params.continuation == nil else { return nil }
    let fetch = try await handler.prepare(&params, context) { (_, _, _) async throws(RPCFault) in }
    guard !handler.tasks.isRunning(fetch.task, of: context.uid, through: context.narrowing) else {
      throw FetchResourceHandler.taskIsRunning
    }
    _ = try InboundTokenCheck.source(of: fetch.inbound, fetch.server, context)
    return CheckedFetch(request: fetch.request, server: fetch.server, options: fetch.options) { error in
      await handler.fault(error, of: fetch, context)
    }
  }

  private func addTaskMethods(
    _ tasks: TaskRegistry, _ lists: ListAnswers, to table: inout MethodTable
  ) {
    let handlers = TaskHandlers(tasks: tasks, lists: lists)
    table.waitingForText(ListTasks.self) { (params, context) async throws(RPCFault) in
      try await handlers.list(params, context)
    }
    table.immediate(GetTask.self) { (params, context) throws(RPCFault) in try handlers.act(on: params, context) }
    table.immediate(SuspendTask.self) { (params, context) throws(RPCFault) in
      try handlers.act(on: params, context) { $0.suspend() }
    }
    table.immediate(ResumeTask.self) { (params, context) throws(RPCFault) in
      try handlers.act(on: params, context) { $0.resume() }
    }
    table.immediate(CancelTask.self) { (params, context) throws(RPCFault) in
      try handlers.act(on: params, context) { $0.cancel() }
    }
  }

  private func addTokenMethods(to table: inout MethodTable) {
    let computation = computation
    let tokens = TokenHandlers(engine: engine, computation: computation)
    table.beginning(ValidateIDToken.self) { (params, context) throws(RPCFault) in
      try tokens.validateIDToken(params, context)
    }
    table.waiting(ValidateAccessToken.self) { (params, context) async throws(RPCFault) in
      try await tokens.validateAccessToken(params, context)
    }
    table.waiting(ValidateRequest.self) { (params, context) async throws(RPCFault) in
      try await tokens.validateRequest(params, context)
    }
    table.waiting(ValidateLogoutToken.self) { (params, context) async throws(RPCFault) in
      try await tokens.validateLogoutToken(params, context)
    }
    table.waiting(IntrospectToken.self) { (params, context) async throws(RPCFault) in
      try await tokens.introspectToken(params, context)
    }
    table.waiting(VerifyJWS.self) { (params, context) async throws(RPCFault) in
      try await computation.run(context) { () throws(RPCFault) in try OfflineMethods.verify(params) }
    }
    table.waiting(DecryptJWE.self) { (params, context) async throws(RPCFault) in
      try await computation.run(context) { () throws(RPCFault) in try OfflineMethods.decrypt(params) }
    }
  }

  private func addSessionMethods(_ lists: ListAnswers, to table: inout MethodTable) {
    let sessions = SessionHandlers(engine: engine, lists: lists)
    table.waiting(CreateSession.self) { (params, context) async throws(RPCFault) in
      try await sessions.create(params, context)
    }
    table.waiting(BeginAuthorization.self) { (params, context) async throws(RPCFault) in
      try await sessions.begin(params, context)
    }
    table.waiting(CompleteAuthorization.self) { (params, context) async throws(RPCFault) in
      try await sessions.complete(params, context)
    }
    table.waiting(BeginDeviceAuthorization.self) { (params, context) async throws(RPCFault) in
      try await sessions.beginDevice(params, context)
    }
    table.waiting(CompleteDeviceAuthorization.self) { (params, context) async throws(RPCFault) in
      try await sessions.completeDevice(params, context)
    }
    table.waiting(GetSession.self) { (params, context) async throws(RPCFault) in
      try await sessions.get(params, context)
    }
    table.waitingForText(ListSessions.self) { (params, context) async throws(RPCFault) in
      try await sessions.list(params, context)
    }
    table.waiting(RefreshSession.self) { (params, context) async throws(RPCFault) in
      try await sessions.refresh(params, context)
    }
    table.waiting(EndSession.self) { (params, context) async throws(RPCFault) in
      try await sessions.end(params, context)
    }
    table.waiting(RevokeToken.self) { (params, context) async throws(RPCFault) in
      try await sessions.revoke(params, context)
    }
    let accessToken = AccessTokenHandler(engine: engine, computation: computation)
    table.beginning(GetAccessToken.self) { (params, context) throws(RPCFault) in
      try accessToken.begin(params, context)
    }
  }

  private func addAdviceMethods(to table: inout MethodTable) {
    let computation = computation
    table.waiting(ParseAdvice.self) { (params, context) async throws(RPCFault) in
      try await computation.run(context) { () throws(RPCFault) in try AdviceParsing.parse(params) }
    }
    let journeys = JourneyHandlers(engine: engine, stopped: suspended)
    table.waiting(Authenticate.self) { (params, context) async throws(RPCFault) in
      try await journeys.authenticate(params, context)
    }
    table.waiting(AuthenticateWithAdvice.self) { (params, context) async throws(RPCFault) in
      try await journeys.authenticate(params, context)
    }
  }
}
