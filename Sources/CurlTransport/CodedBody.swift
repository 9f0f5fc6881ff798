import HTTPMessages
import PosternSupport

/// A whole body as it came, with content codings that are undone in small steps: libcurl would undo as much as it has
/// read at once, of a few kilobytes many megabytes, and nothing else would happen meanwhile.
final class CodedBody {
  /// The outcome of a step.
  enum Progress {
    case more
    case done
    case tooLarge
    case broken
  }

  /// The codings in the order in which they are undone: the last one first.
  private let layers: [Inflation]
  private let limit: Int
  /// No bytes are no body, whatever codings are named.
  private let isEmpty: Bool
  /// The number of bytes that all layers but the last have produced.
  private var between = 0
  private var isBroken: Bool
  /// The decoded bytes so far.
  private(set) var decoded: [UInt8] = []

  /// `bytes` with `codings`, as the server has announced them, decoded to at most `limit` bytes.
  init(_ bytes: [UInt8], codings: [String], limit: Int) {
    layers = codings.reversed().compactMap { Inflation($0) }
    self.limit = limit
    isEmpty = bytes.isEmpty
    isBroken = layers.count != codings.count
    layers.first?.feed(bytes)
  }

  /// Whether all of `codings` can be undone.
  static func knows(_ codings: [String]) -> Bool { codings.allSatisfy(Inflation.knows) }

  /// How many bytes a body may have before that has `limit` afterwards: what cannot be made smaller gets a little
  /// larger.
  static func bytesAtMost(for limit: Int) -> Int { limit > .max / 2 ? limit : limit + limit / 8 + (64 << 10) }

  /// Does a step, of the layer that is nearest to the end and has anything to do.
  func step() -> Progress {
    guard !isBroken else { return .broken }
    guard !isEmpty else { return .done }
    for (index, layer) in layers.enumerated().reversed() {
      if layer.hasWork { return step(layer, before: layers.dropFirst(index + 1).first) }
      // What comes before it makes no difference any more.
      if layer.isOver { break }
    }
    // A coding marks its own end. One that has not reached it was cut off, even if all the bytes have arrived that
    // the server declared.
    isBroken = layers.last?.isOver != true
    return isBroken ? .broken : .done
  }

  private func step(_ layer: Inflation, before next: Inflation?) -> Progress {
    do throws(Inflation.Problem) {
      let piece = try layer.step()
      if let next {
        between += piece.count
        guard between <= Self.bytesAtMost(for: limit) else { return .tooLarge }
        next.feed(piece)
      } else {
        guard piece.count <= limit - decoded.count else { return .tooLarge }
        decoded += piece
      }
      return .more
    } catch {
      isBroken = true
      return .broken
    }
  }
}

/// A body with a content coding that is undone as its reader takes it.
///
/// libcurl would undo at once all that it has read, of a few kilobytes many megabytes. Here the bytes stay with libcurl
/// until everything in them has been undone.
struct CodedStream {
  /// The outcome of an offer of bytes.
  enum Progress {
    /// All of them are undone.
    case taken
    /// There is more in them: they must be offered again.
    case more
    case broken
  }

  private let inflation: Inflation
  /// How many of the bytes that libcurl offers next were offered before, and are with zlib.
  private var known = 0
  private var isEmpty = true
  /// The first byte, where it came alone: zlib needs two to see whether a frame begins.
  private var firstByte: UInt8?

  /// Nil for what is not undone here.
  init?(_ codings: [String]) {
    guard codings.count == 1, let inflation = Inflation(codings[0]) else { return nil }
    self.inflation = inflation
  }

  /// Whether the coding has come to its own end. No bytes are no body, whatever coding is named.
  var isComplete: Bool { isEmpty || inflation.isOver }

  /// Undoes a piece of `bytes` and calls `give` with it. They begin with those that were offered before and not taken:
  /// libcurl may have added to them, or offer them in smaller parts.
  mutating func undo(_ bytes: UnsafeBufferPointer<UInt8>, give: (UnsafeBufferPointer<UInt8>) -> Void) -> Progress {
    if isEmpty, bytes.count == 1 {
      (isEmpty, firstByte) = (false, bytes[0])
      return .taken
    }
    isEmpty = false
    feed(bytes)
    if inflation.hasWork {
      guard let piece = try? inflation.step() else { return .broken }
      if !piece.isEmpty { piece.withUnsafeBufferPointer(give) }
    }
    // What lies behind the end of the coding is not looked at.
    guard inflation.isOver || !inflation.hasWork && known >= bytes.count else { return .more }
    known = max(0, known - bytes.count)
    return .taken
  }

  private mutating func feed(_ bytes: UnsafeBufferPointer<UInt8>) {
    guard !inflation.hasWork, !inflation.isOver, known < bytes.count else { return }
    inflation.feed((firstByte.map { [$0] } ?? []) + bytes[known...])
    firstByte = nil
    known = bytes.count
  }
}

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
      return .failure(TransportError(code: .responseTooLarge, outcome: .replied, detail: detail, limit: .bodySize))
    case .broken:
      let detail = "the body's content coding cannot be undone"
      return .failure(TransportError(code: .protocolError, outcome: .replied, detail: detail))
    }
  }
}
