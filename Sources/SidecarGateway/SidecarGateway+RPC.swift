import HTTPMessages
package import LocalServer
import PosternConfiguration
import PosternJSON
package import PosternJSONRPC
import PosternProtocol
import PosternSupport
import Sidecar

/// A page that is JSON-RPC, or shows what a method of it does.
enum RPCPage: String {
  case rpc = "/rpc"
  case health = "/health"
  case metrics = "/metrics"

  /// The page at `path`; nil: there is none.
  init?(path: String, at site: SidecarGateway.Site) {
    guard let page = RPCPage(rawValue: path), page == .rpc || site == .rpcSocket else { return nil }
    self = page
  }

  fileprivate var methods: [String] { self == .rpc ? ["POST"] : ["GET", "HEAD"] }
}

extension SidecarGateway {
  /// Answers a request for `page`.
  func serve(_ page: RPCPage, _ request: GatewayRequest, _ response: any GatewayResponse) async {
    guard page.methods.contains(request.method) else {
      let fields: HTTPFields = ["Allow": page.methods.joined(separator: ", "), "Cache-Control": "no-store"]
      return await Self.send(405, fields, to: response)
    }
    let caller = connection(of: request)
    switch page {
    case .rpc: await answer(request, response, caller)
    case .health:
      switch await service.call(Health.name, nil, by: caller) {
      case .success(.value(let report)):
        let isDown = report["status"]?.stringValue == Health.Status.down.rawValue
        await Self.send(isDown ? 503 : 200, Self.json, JSONWriter().write(report), to: response)
      case .success: await reject(RPCFault(.internalError), request, response)
      case .failure(let fault): await reject(fault, request, response)
      }
    case .metrics:
      switch await service.call(Metrics.name, nil, by: caller) {
      case .success(.value(let result)):
        let fields: HTTPFields = [
          "Content-Type": "text/plain; version=0.0.4; charset=utf-8", "Cache-Control": "no-store",
        ]
        await Self.send(200, fields, Array((result["text"]?.stringValue ?? "").utf8), to: response)
      case .success: await reject(RPCFault(.internalError), request, response)
      case .failure(let fault): await reject(fault, request, response)
      }
    }
  }

  private static let json: HTTPFields = ["Content-Type": "application/json", "Cache-Control": "no-store"]

  // MARK: - Messages

  /// Carries out the message of JSON-RPC in the body: one request, or a batch. Its media type is not judged: curl sends
  /// another one by itself.
  private func answer(_ request: GatewayRequest, _ response: any GatewayResponse, _ caller: PeerConnection) async {
    var taken = 0
    defer { messages.giveBack(taken, for: caller.peer.uid) }
    let limits = service.snapshot.configuration.limits
    var framer = InboundFramer(
      messageBytes: min(limits.messageBytes, messages.messageBytes), depth: limits.depth, values: limits.jsonValues)
    framer.limitMessages(to: service.messageBytes(for: caller.peer))
    var events: [InboundEvent] = []
    reading: while true {
      switch await request.body.next() {
      case .bytes(let bytes):
        guard messages.take(bytes.count, for: caller.peer.uid) else {
          let fault = RPCFault.overloaded("Too many bytes of messages of this user under way")
          return await reject(fault, request, response)
        }
        taken += bytes.count
        framer.receive(MessageBytes(bytes), into: &events)
        // What follows an error, or a second message, changes nothing.
        if events.count > 1 || events.first?.isError == true { break reading }
      case .end:
        framer.end(into: &events)
        break reading
      case .failed(let reason):
        let fault = RPCFault(.invalidRequest, "the request's body \(reason)", outcome: .notSent, isRetryable: false)
        return await reject(fault, request, response)
      }
    }
    if events.count > 1 {
      let fault = RPCFault(
        .invalidRequest, "the request's body is more than one JSON text: several calls go into one array",
        outcome: .notSent, isRetryable: false)
      return await reject(fault, request, response)
    }
    let text = await service.counted {
      await reply(to: events.first ?? .malformed(reason: "the request has no body", sharesLine: false), caller, request)
    }
    guard let text else { return await Self.send(204, ["Cache-Control": "no-store"], to: response) }
    // Until the program has taken it.
    guard messages.take(text.count, for: caller.peer.uid) else {
      let fault = RPCFault(
        .overloaded, "Too many bytes of answers that this user's programs have not taken",
        outcome: .sentNoReply, isRetryable: false)
      return await reject(fault, request, response)
    }
    taken += text.count
    await Self.send(200, Self.json, text, to: response)
  }

  /// The text that answers a message; nil: it has notifications only. The calls are cancelled with the calling task.
  private func reply(
    to event: InboundEvent, _ caller: PeerConnection, _ request: GatewayRequest
  ) async -> [UInt8]? {
    let written = Locked<[UInt8]?>(nil)
    let end = Reply<Void>()
    var output = JSONRPCConnection.Output(
      executor: request.executor, write: { bytes in written.withLock { $0 = Array(bytes) } },
      close: { end.fill(()) })
    output.poster = request.executor
    let conversation = service.conversation(of: caller, output)
    await withTaskCancellationHandler {
      switch event {
      case .text(let text, _) where event.isLong:
        let read: @Sendable () -> Void = { text.withUnsafeBytes { conversation.receive(text: $0, sharesLine: false) } }
        await Task(executorPreference: conversation.longWork) { read() }.value
      case .text(let text, _): text.withUnsafeBytes { conversation.receive(text: $0, sharesLine: false) }
      default: if let input = ConversationInput(event) { conversation.receive(input) }
      }
      conversation.endInput()
      await end.value()
    } onCancel: {
      conversation.finish(with: RPCFault(.requestCancelled))
    }
    return written.withLock { $0 }
  }
}

extension ConversationInput {
  /// The input that an event of a connection is; nil for a text, which is given as its bytes.
  package init?(_ event: InboundEvent) {
    switch event {
    case .text: return nil
    case .malformed(let reason, let sharesLine): self = .malformed(reason, sharesLine: sharesLine)
    case .oversized(let limit, let sharesLine): self = .oversized(limit: limit, sharesLine: sharesLine)
    case .tooComplex(let limit, let sharesLine): self = .tooComplex(limit: limit, sharesLine: sharesLine)
    case .crowded(let limit): self = .crowded(limit: limit)
    case .violation(let reason): self = .violation(reason)
    }
  }
}

extension InboundEvent {
  fileprivate var isError: Bool { if case .text = self { false } else { true } }
}
