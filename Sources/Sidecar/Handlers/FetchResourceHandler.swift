import AuthEngine
import Configuration
import HTTPMessages
import JSON
import JSONRPC
import Protocol
import Support

/// `fetchResource`: params to a resource request, the engine, and its response to a result.
struct FetchResourceHandler: Sendable {
  /// The most a caller may ask for in `timeoutMs`.
  static let maxTimeout = 600_000

  let engine: Engine
  let tasks: TaskRegistry
  let clock: any EngineClock
  let isTraced: @Sendable () -> Bool

  func callAsFunction(
    _ params: consuming FetchResource.Params, _ context: CallContext
  ) async throws(RPCFault) -> JSONValue {
    var params = params
    guard !context.runtime.configuration.hardening.debuggerCheck || !isTraced() else {
      throw RPCFault(.debuggerAttached, data: ["outcome": "not_sent", "retryable": false])
    }
    let name = try resourceName(params, context)
    let request = try ResourceRequest(params)
    params.dropContent()
    var options = FetchOptions(deadline: context.deadline, followsRedirects: params.followRedirects ?? true)
    options.authentication = params.auth.flatMap { ResourceServer.Authentication(rawValue: $0.rawValue) }
    options.trace = TraceContext(parent: context.trace.traceparent)
    if let timeout = params.timeoutMs {
      guard (1...Self.maxTimeout).contains(timeout) else {
        throw .invalidParams("timeoutMs must be from 1 to \(Self.maxTimeout)", path: "/timeoutMs")
      }
      options.timeout = .milliseconds(timeout)
    }
    var server = try context.runtime.server(name)
    if params.stream == true, server.payloadEncryption?.decryptsAnswers == true {
      throw .invalidParams("The resource's answers are encrypted, which cannot be streamed", path: "/stream")
    }
    server.reservedCookies.formUnion(cookieNames(of: server, context))
    options.session = try await session(params, options.authentication ?? server.authentication, server, context)
    let uid = context.caller.peer.uid
    options.cookieOwner = CookieOwner(uid: uid, session: options.session?.handle)
    let task = params.task ?? NetworkTask.generatedIdentifier()
    guard params.task.map({ (1...128).contains($0.utf8.count) }) ?? true else {
      throw .invalidParams("A task's name has 1 to 128 bytes", path: "/task")
    }
    let delegate = TokenRefreshDelegate(caller: context.caller, task: task, clock: clock)
    options.tokenDelegate = delegate
    let networkTask = NetworkTask(identifier: task, request: request, clock: clock)
    options.task = networkTask
    if params.stream == true { options.deliver = ChunkDelivery(to: context.caller, task: task).deliver }
    guard tasks.begin(networkTask, of: uid) else {
      throw .invalidParams("A task of that name is running", path: "/task")
    }
    defer { tasks.end(networkTask, of: uid) }
    do throws(ResourceError) {
      return FetchResult.make(try await engine.fetcher.fetch(request, from: server, options: options), task: task)
    } catch {
      throw ErrorMap.fault(error)
    }
  }

  /// The single sign-on cookie whose name the access manager told, which is no more a caller's to send than a configured one.
  private func cookieNames(of server: ResourceServer, _ context: CallContext) -> [String] {
    guard let issuer = server.issuer, let manager = context.runtime.issuers[issuer.name]?.accessManager else {
      return []
    }
    return engine.sessions.cookieName(of: manager).map { [$0] } ?? []
  }

  private func session(
    _ params: FetchResource.Params, _ authentication: ResourceServer.Authentication, _ server: ResourceServer,
    _ context: CallContext
  ) async throws(RPCFault) -> FetchSession? {
    let kind: SessionKind
    switch authentication {
    case .user: kind = .user
    case .implicit: kind = .implicit
    case .device, .none:
      try await engine.refuseSession(params.session, context)
      return nil
    }
    return try await engine.session(params.session, kind, server.issuer, context)
  }

  private func resourceName(_ params: FetchResource.Params, _ context: CallContext) throws(RPCFault) -> String {
    let known = context.runtime.configuration.resources
    guard let name = params.resource ?? (known.count == 1 ? known.keys.first : nil) else {
      throw .invalidParams("Several resources are configured: say which", path: "/resource")
    }
    guard known[name] != nil else { throw .invalidParams("No such resource is configured", path: "/resource") }
    guard context.rule.allows(resource: name) else {
      throw RPCFault(.peerForbidden, "This peer may not use the resource", data: ["path": "/resource"])
    }
    return name
  }
}
