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
  private let body: UploadBody
  private let longWork: LongWork?

  /// `body` is that of `request`. Long heads are translated where `longWork` is done.
  init(
    _ request: GatewayRequest, _ fields: RequestFields, _ response: any GatewayResponse, _ body: UploadBody,
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

  func content(for server: ResourceServer) async throws(RPCFault) -> ForwardedFetch.Content {
    var content = ForwardedFetch.Content(fields: fields.forwarded(to: server))
    guard request.body.length != 0 else { return content }
    guard request.method != "HEAD" else { throw .invalidParams("HEAD has no body", path: "/body") }
    if Self.mayRetry(server) { body.keep() }
    if let length = body.length, length <= Self.atOnce, let bytes = try await body.atOnce(length) {
      content.body = bytes
      return content
    }
    let patience = server.timeout
    body.watch.serverActs(within: patience)
    content.supply = BodySupply(
      length: body.length, next: { [body] in await body.next(patience: patience) }, rewind: { [body] in body.rewind() })
    content.whole = { [body] in await body.whole() }
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

  func begin(_ head: HTTPResponseHead, from server: ResourceServer) async -> Bool {
    body.watch.end()
    body.release()
    guard let fields = await translated(head, of: server) else {
      progress.withLock { $0 = .rejected }
      return false
    }
    return await write(beginning: true) { () async throws(GatewayClientGone) in
      try await response.begin(
        status: head.status, fields: fields, length: ResponseFields.length(of: head, to: request.method))
    }
  }

  /// The fields of `head` for the program; nil: it may not get them.
  private func translated(_ head: HTTPResponseHead, of server: ResourceServer) async -> HTTPFields? {
    let translate: @Sendable () -> HTTPFields? = {
      ResponseFields.hasControlCharacter(head) ? nil : ResponseFields(of: server).fields(of: head)
    }
    guard let longWork else { return translate() }
    return await longWork.run(on: ResponseFields.byteCount(of: head), translate)
  }

  func deliver(_ piece: [UInt8]) async -> Bool {
    guard !piece.isEmpty else { return true }
    return await write { () async throws(GatewayClientGone) in try await response.write(piece) }
  }

  /// Ends the exchange as its fetch has: a response that has begun is complete only without an error, and what is not
  /// ended breaks off. An error before it is the response.
  func end(with outcome: Result<Void, RPCFault>) async {
    switch (progress.withLock { $0 }, outcome) {
    case (.begun, .success): _ = await write { () async throws(GatewayClientGone) in try await response.end() }
    case (.open, .failure(let fault)): await Problem(traced(fault)).send(response)
    case (.open, .success): await Problem(traced(RPCFault(.internalError))).send(response)
    case (.rejected, _):
      let fault = RPCFault(
        .protocolError, "a field of the server's response has control characters",
        outcome: TransportError.Outcome.replied)
      await Problem(traced(fault)).send(response)
    case (.begun, .failure), (.gone, _): break
    }
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
    do throws(GatewayClientGone) {
      try await response.begin(status: status, fields: fields, length: Int64(body.count))
      try await response.write(body)
      try await response.end()
    } catch {
      // The program has gone.
    }
  }
}
