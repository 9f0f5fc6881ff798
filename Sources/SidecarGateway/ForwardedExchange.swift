import AuthEngine
import GatewayServer
import HTTPMessages
import PosternJSON
import PosternJSONRPC
import PosternProtocol
import PosternSupport
import SidecarCalls

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
  private let progress = Locked(Progress.open)
  /// Watches the sending of a body that is not kept.
  let watch: UploadWatch
  /// Whether the body is sent while it is read.
  let streamsBody: Bool

  /// `keepsBody`: whether the body is read before it is sent (`KeptUploads`).
  init(
    _ request: GatewayRequest, _ fields: RequestFields, _ response: any GatewayResponse, keepsBody: Bool,
    clock: any EngineClock
  ) {
    self.request = request
    self.fields = fields
    self.response = response
    streamsBody = !keepsBody
    watch = UploadWatch(clock: clock)
  }

  // MARK: - The request

  func content(for server: ResourceServer) async throws(RPCFault) -> ForwardedFetch.Content {
    var content = ForwardedFetch.Content(fields: fields.forwarded(to: server))
    guard request.body.length != 0 else { return content }
    guard request.method != "HEAD" else { throw .invalidParams("HEAD has no body", path: "/body") }
    if streamsBody {
      content.supply = supply(patience: server.bounds.timeout)
    } else {
      content.body = try await wholeBody()
    }
    return content
  }

  private func wholeBody() async throws(RPCFault) -> [UInt8] {
    var body: [UInt8] = []
    while true {
      switch await request.body.next() {
      case .bytes(let bytes): body += bytes
      case .end: return body
      case .failed(let reason): throw .invalidParams("The request's body \(reason)", path: "/body")
      }
    }
  }

  private func supply(patience: Duration) -> BodySupply {
    watch.serverActs(within: patience)
    return BodySupply(length: request.body.length) { [body = request.body, watch] in
      watch.programActs()
      let piece = await body.next()
      watch.serverActs(within: patience)
      return switch piece {
      case .bytes(let bytes): .bytes(bytes)
      case .end: .bytes([])
      case .failed(let reason): .failed("the request's body \(reason)")
      }
    }
  }

  // MARK: - The response

  func begin(_ head: HTTPResponseHead, from server: ResourceServer) async -> Bool {
    watch.end()
    guard !ResponseFields.hasControlCharacter(head) else {
      progress.withLock { $0 = .rejected }
      return false
    }
    return await write(beginning: true) { () async throws(GatewayClientGone) in
      try await response.begin(
        status: head.status, fields: ResponseFields(of: server).fields(of: head),
        length: ResponseFields.length(of: head, to: request.method))
    }
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
    case (.open, .failure(let fault)): await Problem(fault).send(response)
    case (.open, .success): await Problem(RPCFault(.internalError)).send(response)
    case (.rejected, _):
      let outcome = TransportError.Outcome.replied.rawValue
      await Problem(
        RPCFault(
          .protocolError, "a field of the server's response has control characters", data: ["outcome": .string(outcome)]
        )
      ).send(response)
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
