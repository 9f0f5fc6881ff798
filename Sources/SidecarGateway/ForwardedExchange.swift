import AuthEngine
import HTTPMessages
import LocalServer
import PosternJSON
import PosternJSONRPC
import PosternProtocol
import PosternSupport
import Sidecar

/// A request of a program and its response, as the fetch between them sees the program.
final class ForwardedExchange: ForwardingProgram {
  /// How far the response is.
  private enum Progress {
    case open
    /// The response has come as a whole.
    case whole(ResourceResponse, ResourceServer)
    case begun
    /// The server's response cannot be passed on.
    case rejected
    /// The program does not take it any more.
    case gone
  }

  private let request: GatewayRequest
  private let fields: RequestFields
  private let response: any GatewayResponse
  /// Adds the id of its trace to an error that has none.
  private let traced: @Sendable (RPCFault) -> RPCFault
  private let progress = Locked(Progress.open)
  private let body: UploadBody?
  private let longWork: LongWork?

  /// A head of so many bytes is not translated on the thread that serves the connections of all users.
  static let longHead = 4 << 10

  /// `body` is that of `request`; nil: it has none. Long heads are translated where `longWork` is done.
  init(
    _ request: GatewayRequest, _ fields: RequestFields, _ response: any GatewayResponse, _ body: UploadBody?,
    longWork: LongWork? = nil, traced: @escaping @Sendable (RPCFault) -> RPCFault
  ) {
    self.request = request
    self.fields = fields
    self.response = response
    self.body = body
    self.longWork = longWork
    self.traced = traced
  }

  // MARK: - The request

  func fields(for server: ResourceServer) -> HTTPFields { fields.forwarded(to: server) }

  func content(for server: ResourceServer) async throws(RPCFault) -> ForwardedFetch.Content {
    var content = ForwardedFetch.Content(fields: fields.forwarded(to: server))
    guard let body, body.length != 0 else { return content }
    guard request.method != "HEAD" else { throw .invalidParams("HEAD has no body", path: "/body") }
    if Self.mayRetry(server) { body.keep() }
    if let length = body.length, length <= Self.atOnce, let bytes = try await body.atOnce(length) {
      content.body = bytes
      return content
    }
    let patience = server.timeout
    body.watch.serverActs(within: patience)
    content.supply = BodySupply(
      length: body.length, next: { await body.next(patience: patience) }, rewind: { body.rewind() })
    content.whole = { await body.whole() }
    return content
  }

  /// A body of no more bytes may be here as a whole when it is first looked at.
  private static let atOnce: Int64 = 64 << 10

  /// Whether a request to `server` may be sent once more: with a newer token, another proof, or after advice.
  private static func mayRetry(_ server: ResourceServer) -> Bool {
    switch server.authentication {
    case .none, .credential: false
    case .user, .implicit, .clientCredentials, .onBehalfOf: true
    }
  }

  // MARK: - The response

  func take(_ response: ResourceResponse, from server: ResourceServer) {
    body?.watch.end()
    body?.release()
    progress.withLock { progress in
      if case .open = progress { progress = .whole(response, server) }
    }
  }

  func begin(_ head: HTTPResponseHead, from server: ResourceServer) async -> Bool {
    body?.watch.end()
    body?.release()
    guard let fields = await translated(head, of: server) else {
      progress.withLock { $0 = .rejected }
      return false
    }
    return await write(beginning: true) { () async throws(GatewayClientGone) in
      try await response.begin(
        status: head.status, fields: fields, length: ResponseFields.length(of: head))
    }
  }

  /// The fields of `head` for the program; nil: it may not get them.
  private func translated(_ head: HTTPResponseHead, of server: ResourceServer) async -> HTTPFields? {
    guard let longWork else { return Self.translated(head, of: server) }
    return await longWork.run(on: ResponseFields.byteCount(of: head)) { Self.translated(head, of: server) }
  }

  private static func translated(_ head: HTTPResponseHead, of server: ResourceServer) -> HTTPFields? {
    ResponseFields.hasControlCharacter(head) ? nil : ResponseFields(of: server).fields(of: head)
  }

  func deliver(_ piece: [UInt8]) async -> Bool {
    guard !piece.isEmpty else { return true }
    return await write { () async throws(GatewayClientGone) in try await response.write(piece) }
  }

  /// Ends the exchange as its fetch has, and returns when the program has the response, or has gone.
  func end(with outcome: Result<Void, RPCFault>) async {
    await withCheckedContinuation { continuation in end(with: outcome) { continuation.resume() } }
  }

  /// Ends the exchange as its fetch has: a response that has begun is complete only without an error, and what is not
  /// ended breaks off. An error before it is the response. `whenEnded` is called when the program has the response, or
  /// has gone.
  func end(with outcome: Result<Void, RPCFault>, whenEnded: @escaping @Sendable () -> Void) {
    switch (progress.withLock { $0 }, outcome) {
    case (.whole(let response, let server), .success): send(response, from: server, whenEnded: whenEnded)
    case (.begun, .success):
      Task(executorPreference: request.executor) {
        _ = await self.write { () async throws(GatewayClientGone) in try await self.response.end() }
        whenEnded()
      }
    case (.open, .failure(let fault)), (.whole, .failure(let fault)): send(fault, whenEnded)
    case (.open, .success): send(RPCFault(.internalError), whenEnded)
    case (.rejected, _): send(Self.controlCharacter, whenEnded)
    case (.begun, .failure), (.gone, _): whenEnded()
    }
  }

  private static let controlCharacter = RPCFault(
    .protocolError, "a field of the server's response has control characters",
    outcome: TransportError.Outcome.replied)

  private func send(_ fault: RPCFault, _ whenEnded: @escaping @Sendable () -> Void) {
    let problem = Problem(traced(fault))
    response.answer(
      status: problem.status, fields: problem.fields, length: Int64(problem.body.count), body: problem.body,
      whenTaken: whenEnded)
  }

  /// Sends a whole response of `server`.
  private func send(
    _ whole: ResourceResponse, from server: ResourceServer, whenEnded: @escaping @Sendable () -> Void
  ) {
    let head = HTTPResponseHead(status: whole.status, reason: whole.reason, url: whole.url, fields: whole.fields)
    let send: @Sendable (HTTPFields?) -> Void = { [self] fields in
      guard let fields else { return self.send(Self.controlCharacter, whenEnded) }
      let isHead = request.method == "HEAD"
      response.answer(
        status: whole.status, fields: fields,
        length: isHead ? ResponseFields.length(of: head) : Int64(whole.body.count), body: whole.body,
        whenTaken: whenEnded)
    }
    guard longWork != nil, ResponseFields.byteCount(of: head) >= Self.longHead else {
      return send(Self.translated(head, of: server))
    }
    Task(executorPreference: request.executor) { send(await self.translated(head, of: server)) }
  }

  private func write(
    beginning: Bool = false, _ body: () async throws(GatewayClientGone) -> Void
  ) async -> Bool {
    do throws(GatewayClientGone) {
      if beginning { progress.withLock { $0 = .begun } }
      try await body()
      return true
    } catch {
      progress.withLock { $0 = .gone }
      return false
    }
  }
}

extension Problem {
  /// Sends the problem as the response.
  func send(_ response: any GatewayResponse) async {
    await response.answer(status: status, fields: fields, body: body)
  }
}
