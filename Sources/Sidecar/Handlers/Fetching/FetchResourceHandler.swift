import AuthEngine
import HTTPMessages
import PosternConfiguration
import PosternCrypto
import PosternJSON
import PosternJSONRPC
import PosternObservability
import PosternProtocol
import PosternSupport

/// `fetchResource`: params to a resource request, the engine, and its response to a result.
final class FetchResourceHandler: Sendable {
  /// The most a caller may ask for in `timeoutMs`.
  static let maxTimeout = 600_000
  static let taskIsRunning = RPCFault.invalidParams("A task of that name is running", path: "/task")

  let engine: Engine
  let tasks: TaskRegistry
  let stopped: SuspendedFetches
  /// Where long bodies become results.
  let pool: FairPool
  let clock: any EngineClock
  let isTraced: @Sendable () -> Bool
  let trail: AuditTrail?
  let memory = Locked(RequestMemory())

  init(
    engine: Engine, tasks: TaskRegistry, stopped: SuspendedFetches, pool: FairPool, clock: any EngineClock,
    isTraced: @escaping @Sendable () -> Bool, trail: AuditTrail?
  ) {
    self.engine = engine
    self.tasks = tasks
    self.stopped = stopped
    self.pool = pool
    self.clock = clock
    self.isTraced = isTraced
    self.trail = trail
  }

  /// Begins a call. It needs no task where its request and its response are in messages, and its session is known.
  func begin(
    _ params: consuming FetchResource.Params, _ context: CallContext
  ) throws(RPCFault) -> MethodTable.Beginning<Written<FetchResource.Result>> {
    var params = params
    let whole = params
    let rest: @Sendable () async throws(RPCFault) -> Written<FetchResource.Result> = {
      () async throws(RPCFault) in try await self(whole, context)
    }
    guard params.isInMessages else { return .waits(rest) }
    try checkForDebugger(context)
    var fetch = try plan(&params, context)
    guard fetch.stream == nil, case .known(let session) = try knownSession(params.session, fetch.server, context),
      fetch.server.authentication != .onBehalfOf
    else { return .waits(rest) }
    try complete(&fetch, params, session, context)
    return .begun(BegunFetch(try RunningFetch(fetch, context, by: self) { _ in }))
  }

  func callAsFunction(
    _ params: consuming FetchResource.Params, _ context: CallContext
  ) async throws(RPCFault) -> Written<FetchResource.Result> {
    var params = params
    let descriptors = context.takeDescriptors()
    try checkForDebugger(context)
    if let continuation = params.continuation { return try await resume(continuation, params, descriptors, context) }
    var bodies: FetchBodies?
    let fetch = try await prepare(&params, context) { (params, options, server) async throws(RPCFault) in
      bodies = try await self.bodies(params, descriptors, options, server)
    }
    return try await carryOut(fetch, bodies, context)
  }

  /// The fetch of `params`, checked as far as no request is needed; `takeBodies` is called before its session is found.
  func prepare(
    _ params: inout FetchResource.Params, _ context: CallContext,
    takeBodies: (FetchResource.Params, FetchOptions, ResourceServer) async throws(RPCFault) -> Void
  ) async throws(RPCFault) -> Fetch {
    var fetch = try plan(&params, context)
    try await takeBodies(params, fetch.options, fetch.server)
    params.dropContent()
    try complete(&fetch, params, try await session(params.session, fetch.server, context), context)
    return fetch
  }

  /// The fetch of `params`, without its session and its task.
  private func plan(
    _ params: inout FetchResource.Params, _ context: CallContext
  ) throws(RPCFault) -> Fetch {
    let name = try resourceName(params, context)
    let request = try ResourceRequest(params)
    var options = FetchOptions(followsRedirects: params.followRedirects ?? true, in: context.scope)
    options.authentication = params.auth.map(ResourceServer.Authentication.init)
    options.narrowing = context.narrowing?.id
    options.timeout = try Self.timeout(params)
    let server = try server(name, options, context)
    try context.check(request, to: server, options)
    if context.boundsFetches { options.followsRedirects = false }
    let stream = try BodyStream.requested(by: params, hasFrames: context.caller.conversation?.hasFrames ?? false)
    guard stream == nil || context.caller.stays else {
      throw .invalidParams(
        "stream needs a JSON-RPC connection that stays: over HTTP the gateway streams a response", path: "/stream")
    }
    if stream != nil, server.payloadEncryption?.decryptsAnswers == true {
      throw .invalidParams("The resource's answers are encrypted, which cannot be streamed", path: "/stream")
    }
    return Fetch(
      request: request, server: server, options: options, task: "", stream: stream,
      inbound: params.onBehalfOf.take())
  }

  /// Adds session and task to a fetch.
  private func complete(
    _ fetch: inout Fetch, _ params: FetchResource.Params, _ session: SessionRef?, _ context: CallContext
  ) throws(RPCFault) {
    use(session, fetch.server, &fetch.options, context)
    guard params.task.map({ (1...128).contains($0.utf8.count) }) ?? true else {
      throw .invalidParams("A task's name has 1 to 128 bytes", path: "/task")
    }
    fetch.task = params.task ?? NetworkTask.generatedIdentifier()
  }

  /// Sets the session of a fetch.
  func use(_ session: SessionRef?, _ server: ResourceServer, _ options: inout FetchOptions, _ context: CallContext) {
    options.session = session
    context.audit?.note(server, session)
    options.cookieScope = CookieScope(uid: context.uid, session: session?.handle)
  }

  /// Throws when a debugger is attached, and the configuration wants nothing fetched then.
  func checkForDebugger(_ context: CallContext) throws(RPCFault) {
    guard context.runtime.checksForDebugger, isTraced() else { return }
    throw RPCFault(.debuggerAttached, outcome: .notSent, isRetryable: false)
  }

  /// A fetch whose parts have been checked.
  struct Fetch {
    let request: ResourceRequest
    let server: ResourceServer
    var options: FetchOptions
    var task: String
    var stream: BodyStream?
    var inbound: OnBehalfOf?
    var progress: AdviceProgress?
    /// Whether another call can send its request, once advice is satisfied.
    var mayContinue = true
    /// Reads all of the body that is sent while it is read, so that another call can send it.
    var wholeBody: (@Sendable () async -> [UInt8]?)?
  }

  /// Runs a fetch as a task of the caller's, with its bodies in messages or `bodies`.
  func carryOut(
    _ fetch: Fetch, _ bodies: FetchBodies?, _ context: CallContext
  ) async throws(RPCFault) -> Written<FetchResource.Result> {
    var fetch = fetch
    // The request's descriptor ends with this call: such a fetch cannot continue in another one.
    fetch.mayContinue = bodies?.hasReader != true
    let task = fetch.task
    let outcome = try await run(fetch, context) { [stream = fetch.stream] options in
      if case .pieces(let withHead, let asFrames) = stream {
        let delivery = ChunkDelivery(to: context.caller, task: task, asFrames: asFrames)
        options.deliver = delivery.deliver
        if withHead { options.deliverHead = delivery.deliver }
      }
      bodies?.apply(to: &options)
    }
    do throws(ResourceError) {
      return await written(try outcome.get(), task, bodyBytes: bodies?.bytesWritten, context)
    } catch {
      if let fault = bodies?.fault(behind: error) { throw fault }
      throw await fault(error, of: fetch, context)
    }
  }

  /// The result of a fetch. A long body is written where that delays no other call.
  fileprivate func written(
    _ response: ResourceResponse, _ task: String, bodyBytes: Int64? = nil, _ context: CallContext
  ) async -> Written<FetchResource.Result> {
    await pool.run(for: context.caller, if: response.isLong) {
      Written(FetchResource.Result(response, task: task, bodyBytes: bodyBytes))
    }
  }

  /// The error of a fetch, without what it would reveal of an issuer that the caller's rule hides.
  func fault(_ error: ResourceError, of fetch: Fetch, _ context: CallContext) async -> RPCFault {
    // It has the response with the advice.
    await pool.run(for: context.caller, if: error.stop?.response?.isLong ?? false) {
      self.faultNow(error, of: fetch, context)
    }
  }

  fileprivate func faultNow(_ error: ResourceError, of fetch: Fetch, _ context: CallContext) -> RPCFault {
    let fault = ErrorMap.fault(error, task: fetch.task, wait: fetch.server.advice?.wait, at: clock.wallNow)
    let isHidden = error.issuer.map { !context.runtime.scope.contains(issuer: $0) } ?? false
    return isHidden ? ErrorMap.withoutIssuer(fault) : fault
  }

  /// Runs a fetch as a task of the caller's. `stream` sets where its bodies come from and go to.
  func run(
    _ fetch: Fetch, _ context: CallContext, stream: (inout FetchOptions) -> Void
  ) async throws(RPCFault) -> Result<ResourceResponse, ResourceError> {
    let running = try RunningFetch(fetch, context, by: self, stream: stream)
    defer { running.end() }
    var options = running.options
    if fetch.inbound != nil || fetch.server.authentication == .onBehalfOf {
      // The caller's time limit is that of the validation as well.
      options.scope = options.scope.until(running.deadline)
      options.onBehalfOf = try await inboundToken(
        fetch.inbound, fetch.server, running.task, by: running.deadline, context)
    }
    do throws(ResourceError) {
      let response = try await engine.fetcher.fetch(fetch.request, from: fetch.server, options: options)
      context.audit?.note(response)
      return .success(response)
    } catch {
      return .failure(error)
    }
  }

  /// The options of a fetch as they depend on its call.
  fileprivate func options(of fetch: Fetch, by deadline: Deadline, _ context: CallContext) -> FetchOptions {
    var options = fetch.options
    let task = fetch.task
    if let rules = fetch.server.advice, [.user, .none].contains(fetch.server.authentication) {
      // Without anything of this connection's: it may be gone by then.
      var lasting = options
      lasting.scope = CallScope(peer: options.scope.user)
      let kept = SuspendedFetches.Origin(
        uid: context.uid, resource: fetch.server.name, baseURL: fetch.server.baseURL, request: fetch.request,
        options: lasting, stream: fetch.stream, task: task, wait: rules.wait, path: context.levels)
      options.advice = advice(rules, kept, of: fetch, by: deadline, context)
    }
    options.tokenDelegate = TokenRefreshDelegate(
      caller: context.caller, task: task, deadline: deadline, clock: clock)
    options.narrowing = context.narrowing?.id
    options.longWork = LongWork(from: JSONRPCConnection.longText) { [pool, caller = context.caller] in
      caller.executor(in: pool)
    }
    return options
  }

  /// The descriptors for the call's bodies; nil: the bodies are in its messages.
  func bodies(
    _ params: FetchResource.Params, _ descriptors: [PassedDescriptor], _ options: FetchOptions, _ server: ResourceServer
  ) async throws(RPCFault) -> FetchBodies? {
    guard params.bodyTo != nil || params.bodyFrom != nil || params.contentLength != nil else { return nil }
    if params.bodyTo != nil, server.payloadEncryption?.decryptsAnswers == true {
      throw .invalidParams("The resource's answers are encrypted, which are decrypted as a whole", path: "/bodyTo")
    }
    return try await FetchBodies(
      params, descriptors, patience: options.timeout ?? server.timeout)
  }

  /// The configured resource server, with the cookie that no caller may send.
  func server(_ name: String, _ context: CallContext) throws(RPCFault) -> ResourceServer {
    let server = try context.runtime.server(name)
    // Where fetches are bounded such a field could make another request of it than the one that was checked.
    return server.restricting(cookie: cookieName(of: server, context), allowsHeaders: !context.boundsFetches)
  }

  static func timeout(_ params: FetchResource.Params) throws(RPCFault) -> Duration? {
    guard let timeout = params.timeoutMs else { return nil }
    guard (1...Self.maxTimeout).contains(timeout) else {
      throw .invalidParams("timeoutMs must be from 1 to \(Self.maxTimeout)", path: "/timeoutMs")
    }
    return .milliseconds(timeout)
  }

  /// The single sign-on cookie whose name the access manager returned; callers may not send it, as with a configured
  /// name.
  private func cookieName(of server: ResourceServer, _ context: CallContext) -> String? {
    context.runtime.accessManager(behind: server).flatMap { engine.sessions.cookieName(of: $0) }
  }

  /// The session that a fetch uses; nil where it uses none, or may be sent without a token.
  func session(
    _ handle: String?, _ server: ResourceServer, _ context: CallContext
  ) async throws(RPCFault) -> SessionRef? {
    guard let kind = server.authentication.session else {
      try await engine.rejectSession(handle, context)
      return nil
    }
    return try await engine.session(
      handle, kind, server.issuer, mayBeMissing: server.whenNoSession == .sendWithoutToken, context)
  }

  /// The same as far as the store is not needed for it.
  func knownSession(
    _ handle: String?, _ server: ResourceServer, _ context: CallContext
  ) throws(RPCFault) -> SessionChoice {
    guard let kind = server.authentication.session else { return handle?.isEmpty ?? true ? .known(nil) : .inStore }
    return try engine.knownSession(
      handle, kind, server.issuer, mayBeMissing: server.whenNoSession == .sendWithoutToken, context)
  }

  /// The validated inbound token; nil also when the task was cancelled meanwhile: then its fetch ends at once.
  private func inboundToken(
    _ given: OnBehalfOf?, _ server: ResourceServer, _ task: NetworkTask, by deadline: Deadline, _ context: CallContext
  ) async throws(RPCFault) -> InboundToken? {
    let check = InboundTokenCheck(engine: engine, computation: CPUOffload(clock: clock, pool: pool))
    do throws(RPCFault) {
      return try await task.preparing(failure: { ResourceError(.notAuthenticated, $0.message) }) {
        () async throws(RPCFault) in try await check(given, server, by: deadline, context)
      } ?? nil
    } catch {
      let isHidden = server.issuer.map { !context.runtime.scope.contains(issuer: $0.name) } ?? false
      throw isHidden && error.code != .invalidParams ? ErrorMap.withoutIssuer(error) : error
    }
  }

  /// The resource as a fetch with these options uses it.
  func server(
    _ name: String, _ options: FetchOptions, _ context: CallContext
  ) throws(RPCFault) -> ResourceServer {
    let own = try server(name, context)
    let server = own.applying(options)
    try context.check(server.authentication, of: own.authentication)
    return server
  }

  func resourceName(_ params: FetchResource.Params, _ context: CallContext) throws(RPCFault) -> String {
    guard let name = params.resource ?? context.runtime.onlyResource else {
      throw .invalidParams("Several resources are configured: say which", path: "/resource")
    }
    try context.runtime.check(resource: name)
    return name
  }
}

extension ResourceServer.Authentication {
  /// The kind of session that requests need; nil: none.
  fileprivate var session: SessionKind? {
    switch self {
    case .user: .user
    case .implicit: .implicit
    case .clientCredentials, .credential, .onBehalfOf, .none: nil
    }
  }
}

extension ResourceResponse {
  /// Whether to write its body takes long.
  fileprivate var isLong: Bool { body.count >= JSONRPCConnection.longText }
}

extension FetchResource.Params {
  /// Whether nothing of the call is in descriptors, in another call, or has to be validated first.
  fileprivate var isInMessages: Bool {
    continuation == nil && bodyTo == nil && bodyFrom == nil && contentLength == nil && onBehalfOf == nil
  }
}

/// A fetch that is a task of its caller's, and has its share of memory, until `end`.
final class RunningFetch: Sendable {
  let fetch: FetchResourceHandler.Fetch
  let context: CallContext
  let handler: FetchResourceHandler
  let task: NetworkTask
  /// When the caller stops waiting.
  let deadline: Deadline
  let options: FetchOptions
  private let use: RequestMemory.Use
  private let registered: TaskRegistry.Registered

  /// Fails where a task of that name runs, or the caller's uid has too many bytes of requests under way.
  init(
    _ fetch: FetchResourceHandler.Fetch, _ context: CallContext, by handler: FetchResourceHandler,
    stream: (inout FetchOptions) -> Void
  ) throws(RPCFault) {
    self.fetch = fetch
    self.context = context
    self.handler = handler
    deadline = Deadline(instant: fetch.options.timeout.map { handler.clock.monotonicNow + $0 }).earlier(
      fetch.options.scope.deadline)
    task = NetworkTask(identifier: fetch.task, request: fetch.request, clock: handler.clock)
    var options = handler.options(of: fetch, by: deadline, context)
    options.task = task
    stream(&options)
    self.options = options
    let use = RequestMemory.Use(
      bytes: fetch.request.maxBodyBytes, uid: context.uid, level: context.narrowing?.chain.first?.id,
      user: options.session?.handle?.text
        ?? fetch.inbound.map { Hexadecimal.string(HashFunction.sha256.hash(Array($0.token.utf8))) })
    guard handler.memory.withLock({ $0.take(use) }) else {
      throw RPCFault.overloaded("Too many bytes of requests of this user under way")
    }
    let registered = handler.tasks.begin(
      task, for: fetch.server.name, of: context.uid, through: context.narrowing)
    guard let registered else {
      handler.memory.withLock { $0.giveBack(use) }
      throw FetchResourceHandler.taskIsRunning
    }
    (self.use, self.registered) = (use, registered)
  }

  func end() {
    handler.tasks.end(registered)
    handler.memory.withLock { $0.giveBack(use) }
  }
}

/// A fetch without a task, whose request is in a message, or has no body.
final class BegunFetch: BegunCall {
  private let running: RunningFetch
  private let call: FetchCall
  private let program: (any ForwardingProgram)?

  /// The response goes to `program`; nil: it becomes the call's result.
  init(_ running: RunningFetch, for program: (any ForwardingProgram)? = nil) {
    self.running = running
    self.program = program
    call = running.handler.engine.fetcher.call(
      running.fetch.request, from: running.fetch.server, options: running.options, on: running.context.caller.poster)
  }

  func run(_ end: @escaping @Sendable (Result<RPCResult, RPCFault>) -> Void) {
    call.start { [running, program] result in
      running.end()
      let (handler, fetch, context) = (running.handler, running.fetch, running.context)
      if case .success(let response) = result { context.audit?.note(response) }
      switch result {
      case .success(let response) where program != nil:
        program?.take(response, from: fetch.server)
        end(.success(.value(.null)))
      case .success(let response) where response.isLong:
        context.scope.task { end(.success(.text(await handler.written(response, fetch.task, context).text))) }
      case .success(let response):
        end(.success(.text(Written(FetchResource.Result(response, task: fetch.task)).text)))
      case .failure(let error) where error.stop?.response?.isLong == true:
        context.scope.task { end(.failure(await handler.fault(error, of: fetch, context))) }
      case .failure(let error): end(.failure(handler.faultNow(error, of: fetch, context)))
      }
    }
  }

  func cancel() { call.cancel() }
}
