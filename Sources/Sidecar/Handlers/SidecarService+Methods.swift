import AuthEngine
import PosternConfiguration
import PosternJSON
import PosternJSONRPC
import PosternProtocol
import PosternSupport

extension SidecarService {
  /// Every method of this build with what carries it out.
  func makeMethodTable() -> MethodTable {
    var table = MethodTable()
    table.prepared(Discover.self) { _ in Product.openRPCText }
    table.prepared(GetInfo.self) { [self] in hardening.answer($0.runtime.info) }
    table.waiting(Health.self) { [self] (_, context) async throws(RPCFault) in
      await settledHealth(for: context.runtime.scope, by: context.deadline)
    }
    table.immediate(Metrics.self) { [self] (_, context) throws(RPCFault) in
      Metrics.Result(text: exposition(for: context.runtime.scope))
    }
    table.immediate(Subscribe.self) { [self] (params, context) throws(RPCFault) in
      if params.events.contains(.healthChanged) { wantReadiness() }
      return Subscribe.Result(subscribed: context.caller.events { $0.formUnion(params.events) })
    }
    table.immediate(Unsubscribe.self) { (params, context) throws(RPCFault) in
      Subscribe.Result(subscribed: context.caller.events { $0.subtract(params.events) })
    }
    table.immediate(RegisterDelegate.self) { (params, context) throws(RPCFault) in
      let registered = Set(params.methods)
      context.caller.register(registered)
      return RegisterDelegate.Result(registered: DelegateMethod.allCases.filter(registered.contains))
    }
    table.waiting(ReloadConfig.self) { [self] (_, context) async throws(RPCFault) in
      // Reads files: not on the thread that serves connections.
      let uid = context.caller.peer.uid
      let outcome = await Task.detached { [self] in Result { () throws(ReloadFailure) in try reload(for: uid) } }.value
      do throws(ReloadFailure) {
        return ReloadConfig.Result(changed: try outcome.get())
      } catch {
        throw ErrorMap.fault(error, for: context.runtime.scope)
      }
    }
    let fetch = FetchResourceHandler(
      engine: engine, tasks: tasks, stopped: stopped, pool: pool, clock: clock, isTraced: surroundings.isTraced,
      trail: trail)
    table.waitingForValue(FetchResource.self) {
      (params: consuming FetchResource.Params, context) async throws(RPCFault) in
      try await fetch(params, context)
    }
    addDecisionMethods(to: &table)
    addTaskMethods(to: &table)
    addTokenMethods(to: &table)
    addSessionMethods(to: &table)
    addAdviceMethods(to: &table)
    return table
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

  private func addTaskMethods(to table: inout MethodTable) {
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
    let computation = CPUOffload(clock: clock, pool: pool)
    let tokens = TokenHandlers(engine: engine, computation: computation)
    table.waitingForValue(ValidateIDToken.self) { (params, context) async throws(RPCFault) in
      try await tokens.validateIDToken(params, context)
    }
    table.waitingForValue(ValidateAccessToken.self) { (params, context) async throws(RPCFault) in
      try await tokens.validateAccessToken(params, context)
    }
    table.waitingForValue(ValidateLogoutToken.self) { (params, context) async throws(RPCFault) in
      try await tokens.validateLogoutToken(params, context)
    }
    table.waitingForValue(IntrospectToken.self) { (params, context) async throws(RPCFault) in
      try await tokens.introspectToken(params, context)
    }
    table.waitingForValue(VerifyJWS.self) { (params, context) async throws(RPCFault) in
      try await computation.run(context) { () throws(RPCFault) in try OfflineMethods.verify(params) }
    }
    table.waitingForValue(DecryptJWE.self) { (params, context) async throws(RPCFault) in
      try await computation.run(context) { () throws(RPCFault) in try OfflineMethods.decrypt(params) }
    }
  }

  private func addSessionMethods(to table: inout MethodTable) {
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
    let accessToken = AccessTokenHandler(engine: engine)
    table.waitingForValue(GetAccessToken.self) { (params, context) async throws(RPCFault) in
      try await accessToken(params, context)
    }
  }

  private func addAdviceMethods(to table: inout MethodTable) {
    let computation = CPUOffload(clock: clock, pool: pool)
    table.waiting(ParseAdvice.self) { (params, context) async throws(RPCFault) in
      try await computation.run(context) { () throws(RPCFault) in try AdviceParsing.parse(params) }
    }
    let journeys = JourneyHandlers(engine: engine, stopped: stopped)
    table.waiting(Authenticate.self) { (params, context) async throws(RPCFault) in
      try await journeys.authenticate(params, context)
    }
    table.waiting(AuthenticateWithAdvice.self) { (params, context) async throws(RPCFault) in
      try await journeys.authenticate(params, context)
    }
  }

  /// Every check as it stands now.
  var healthReport: Health.Result { healthReport(for: .everything) }

  /// Every check of what `scope` shows, as it stands now.
  func healthReport(for scope: PeerScope) -> Health.Result {
    // Those of files do not say whose they are.
    let replacements = surroundings.replacements.problems.filter {
      scope.isEverything || !$0.key.startsWithBytes(of: "file.")
    }
    return health.report(
      for: scope, keySets: engine.keySets.ages(),
      certificates: runtime.certificates.filter { scope.contains(certificateOf: $0.owner) },
      degradations: runtime.decisionPoints.filter { scope.contains(decisionPoint: $0.key) }
        .compactMapValues(\.settings.degradation),
      others: otherChecks(for: scope), replacements: replacements)
  }

  private func otherChecks(for scope: PeerScope) -> [String: Health.Check] {
    let resources = runtime.configuration.resources
    var checks =
      surroundings.transportState?().checks { scope.contains(resource: $0) && resources[$0]?.http2 == true } ?? [:]
    checks["audit"] = trail?.check
    if surroundings.hardening != nil { checks["hardening"] = hardening.report.check }
    return checks
  }

  /// The metrics of what `scope` shows. Those of the process as a whole tell of everybody's use: they are for scopes
  /// that hide nothing.
  func exposition(for scope: PeerScope = .everything) -> String {
    let connections = hub.connections
    let own =
      metrics.exposition(
        for: scope, openConnections: connections.count,
        inFlight: connections.reduce(0) { $0 + ($1.session?.inFlightCount ?? 0) }, waiting: gate.waitingCount,
        startedAt: startedAt, version: Product.version)
      + OriginMetrics.exposition(
        runtime.allServers.filter { scope.contains(resource: $0.name) }, engine.fetcher.originStates)
    guard scope.isEverything else { return own }
    return own
      + AdviceMetrics.exposition(journeys: engine.journeys.waitingCount, fetches: stopped.count)
      + AuditMetrics.exposition(trail?.condition) + TelemetryMetrics.exposition(spanCounts)
      + TransportMetrics.exposition(surroundings.transportState?())
  }
}
