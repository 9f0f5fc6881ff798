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
struct FetchResourceHandler: Sendable {
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
  var trail: AuditTrail?
  let memory = Locked(RequestMemory())

  func callAsFunction(
    _ params: consuming FetchResource.Params, _ context: CallContext
  ) async throws(RPCFault) -> Written<FetchResource.Result> {
    var params = params
    let descriptors = context.descriptors.take()
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
    if stream != nil, server.payloadEncryption?.decryptsAnswers == true {
      throw .invalidParams("The resource's answers are encrypted, which cannot be streamed", path: "/stream")
    }
    try await takeBodies(params, options, server)
    params.dropContent()
    options.session = try await session(params.session, server, context)
    let inbound = params.onBehalfOf.take()
    context.audit?.note(server, options.session)
    options.cookieScope = CookieScope(uid: context.uid, session: options.session?.handle)
    guard params.task.map({ (1...128).contains($0.utf8.count) }) ?? true else {
      throw .invalidParams("A task's name has 1 to 128 bytes", path: "/task")
    }
    let task = params.task ?? NetworkTask.generatedIdentifier()
    return Fetch(request: request, server: server, options: options, task: task, stream: stream, inbound: inbound)
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
    let task: String
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
      let response = try outcome.get()
      return await pool.run(for: context.caller, if: response.body.count >= JSONRPCConnection.longText) {
        Written(FetchResource.Result(response, task: task, bodyBytes: bodies?.bytesWritten))
      }
    } catch {
      if let fault = bodies?.fault(behind: error) { throw fault }
      throw await fault(error, of: fetch, context)
    }
  }

  /// The error of a fetch, without what it would reveal of an issuer that the caller's rule hides.
  func fault(_ error: ResourceError, of fetch: Fetch, _ context: CallContext) async -> RPCFault {
    // It has the response with the advice.
    let length = error.stop?.response?.body.count ?? 0
    let (task, wait) = (fetch.task, fetch.server.advice?.wait)
    let fault = await pool.run(for: context.caller, if: length >= JSONRPCConnection.longText) { [clock] in
      ErrorMap.fault(error, task: task, wait: wait, at: clock.wallNow)
    }
    let isHidden = error.issuer.map { !context.runtime.scope.contains(issuer: $0) } ?? false
    return isHidden ? ErrorMap.withoutIssuer(fault) : fault
  }

  /// Runs a fetch as a task of the caller's. `stream` sets where its bodies come from and go to.
  func run(
    _ fetch: Fetch, _ context: CallContext, stream: (inout FetchOptions) -> Void
  ) async throws(RPCFault) -> Result<ResourceResponse, ResourceError> {
    let uid = context.caller.peer.uid
    let (request, server, task) = (fetch.request, fetch.server, fetch.task)
    var options = fetch.options
    let deadline = Deadline(instant: options.timeout.map { clock.monotonicNow + $0 }).earlier(options.scope.deadline)
    if let rules = server.advice, server.authentication == .user {
      // Without anything of this connection's: it may be gone by then.
      var lasting = options
      lasting.scope = CallScope(peer: options.scope.user)
      let kept = SuspendedFetches.Origin(
        uid: uid, resource: server.name, baseURL: server.baseURL, request: request, options: lasting,
        stream: fetch.stream, task: task, wait: rules.wait, path: context.levels)
      options.advice = advice(rules, kept, of: fetch, by: deadline, context)
    }
    options.tokenDelegate = TokenRefreshDelegate(
      caller: context.caller, task: task, deadline: deadline, clock: clock)
    options.narrowing = context.narrowing?.id
    options.longWork = LongWork(from: JSONRPCConnection.longText) { [pool, caller = context.caller] in
      caller.executor(in: pool)
    }
    let networkTask = NetworkTask(identifier: task, request: request, clock: clock)
    options.task = networkTask
    stream(&options)
    let use = RequestMemory.Use(
      bytes: request.maxBodyBytes, uid: uid, level: context.narrowing?.chain.first?.id,
      user: options.session?.handle?.text
        ?? fetch.inbound.map { Hexadecimal.string(HashFunction.sha256.hash(Array($0.token.utf8))) })
    guard memory.withLock({ $0.take(use) }) else {
      throw RPCFault.overloaded("Too many bytes of requests of this user under way")
    }
    defer { memory.withLock { $0.giveBack(use) } }
    let isNew = tasks.begin(networkTask, for: server.name, of: uid, through: context.narrowing)
    guard isNew else { throw Self.taskIsRunning }
    defer { tasks.end(networkTask, of: uid, through: context.narrowing) }
    if fetch.inbound != nil || server.authentication == .onBehalfOf {
      // The caller's time limit is that of the validation as well.
      options.scope = options.scope.until(deadline)
      options.onBehalfOf = try await inboundToken(fetch.inbound, server, networkTask, by: deadline, context)
    }
    do throws(ResourceError) {
      let response = try await engine.fetcher.fetch(request, from: server, options: options)
      context.audit?.note(response)
      return .success(response)
    } catch {
      return .failure(error)
    }
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
    let kind: SessionKind
    switch server.authentication {
    case .user: kind = .user
    case .implicit: kind = .implicit
    case .clientCredentials, .credential, .onBehalfOf, .none:
      try await engine.rejectSession(handle, context)
      return nil
    }
    return try await engine.session(
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
