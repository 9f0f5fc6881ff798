import HTTPMessages
import Support

/// Carries a body from the transport to whoever takes it in pieces, while the exchange runs.
struct BodyDelivery {
  /// The largest piece that is handed on.
  static let pieceBytes = 48 << 10

  private static let refusal = "nobody takes the body any more"

  private let control: TransferControl
  private let deliver: @Sendable ([UInt8]) async -> Bool
  private let pump: Task<Bool, Never>

  init(_ task: NetworkTask, to deliver: @escaping @Sendable ([UInt8]) async -> Bool) {
    let control = task.control
    self.control = control
    self.deliver = deliver
    pump = Task {
      while let piece = await control.next() {
        guard await Self.hand(piece, to: deliver) else {
          // Ends the exchange: the server need not send what nobody wants, nor wait for a taker.
          task.end(because: Self.refusal)
          return false
        }
      }
      return true
    }
  }

  /// The fetch has failed: nobody wants what is left.
  func abandon() async {
    pump.cancel()
    control.finish()
    _ = await pump.value
  }

  /// The last answer is there: hands on what is left of its body.
  func finish(_ response: ResourceResponse) async throws(ResourceError) -> ResourceResponse {
    control.finish()
    var response = response
    let isDelivered = await withTaskCancellationHandler {
      await pump.value
    } onCancel: {
      pump.cancel()
    }
    guard isDelivered, await Self.hand(response.body, to: deliver) else {
      throw ResourceError(.requestCancelled, Self.refusal, outcome: .replied)
    }
    response.body = []
    response.isStreamed = true
    return response
  }

  /// False when it is not taken, or the calling task was cancelled.
  private static func hand(
    _ piece: [UInt8], to deliver: @Sendable ([UInt8]) async -> Bool
  ) async -> Bool {
    var start = 0
    while start < piece.count {
      let end = min(start + pieceBytes, piece.count)
      guard !Task.isCancelled, await deliver(Array(piece[start..<end])) else { return false }
      start = end
    }
    return true
  }
}
