import HTTPMessages
import PosternSupport

/// The exchanges whose bodies are there and have content codings to be undone: a step at a time, of one uid after the
/// other, so that everybody's bytes move in between. Owned by the loop.
struct Decodings {
  private struct Work {
    let exchange: Exchange
    let response: HTTPResponse
    let body: CodedBody
  }

  private var queue = FairQueue<Work>()
  private var underWay: [ObjectIdentifier: Exchange] = [:]

  /// The exchanges that have not ended.
  var exchanges: [Exchange] { Array(underWay.values) }
  var count: Int { underWay.count }
  /// Whether there is nothing to do.
  var isEmpty: Bool { queue.isEmpty }

  /// Takes in `exchange`, whose `response` has these `codings`.
  mutating func add(_ exchange: Exchange, _ response: HTTPResponse, codings: [String]) {
    let body = CodedBody(response.body, codings: codings, limit: max(0, exchange.options.maxBodyBytes))
    var bare = response
    bare.body = []
    underWay[ObjectIdentifier(exchange)] = exchange
    let flow = queue.open(uid: exchange.options.peerID.uid)
    queue.add(Work(exchange: exchange, response: bare, body: body), of: flow)
  }

  /// Removes `exchange`; false when it is not here.
  mutating func remove(_ exchange: Exchange) -> Bool { underWay.removeValue(forKey: ObjectIdentifier(exchange)) != nil }

  /// Does the next step; what an exchange has come to, if that was its last.
  mutating func step(at now: MonotonicInstant) -> (Exchange, Result<HTTPResponse, TransportError>)? {
    guard let (work, flow) = queue.next() else { return nil }
    // Ended meanwhile.
    guard underWay[ObjectIdentifier(work.exchange)] != nil else {
      queue.close(flow)
      return nil
    }
    let before = work.body.decoded.count
    let progress = work.body.step()
    work.exchange.options.control?.moved(received: Int64(work.body.decoded.count - before))
    queue.charge(flow, 1)
    if progress == .more {
      queue.add(work, of: flow)
      return nil
    }
    queue.close(flow)
    underWay[ObjectIdentifier(work.exchange)] = nil
    return (work.exchange, Self.result(of: work, progress, at: now))
  }

  private static func result(
    of work: Work, _ progress: CodedBody.Progress, at now: MonotonicInstant
  ) -> Result<HTTPResponse, TransportError> {
    switch progress {
    case .more, .done:
      var response = work.response
      response.body = work.body.decoded
      response.timing.total = now - work.exchange.submittedAt
      return .success(response)
    case .tooLarge:
      let detail = "the body is larger than \(work.exchange.options.maxBodyBytes) bytes"
      return .failure(TransportError(code: .responseTooLarge, outcome: .replied, detail: detail))
    case .broken:
      let detail = "the body's content coding cannot be undone"
      return .failure(TransportError(code: .protocolError, outcome: .replied, detail: detail))
    }
  }
}
