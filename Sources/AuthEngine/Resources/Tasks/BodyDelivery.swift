import HTTPMessages

/// Carries a body from the transport to whoever takes it in pieces, while the exchange runs.
struct BodyDelivery {
  private static let refusal = "nobody takes the body any more"

  let task: NetworkTask
  let deliver: @Sendable ([UInt8]) async -> Bool

  /// Hands pieces on until there are no more; false when one was not taken. Runs beside the exchange, as a child of who waits for
  /// it: where it runs, so that a piece needs no way between threads.
  func pump() async -> Bool {
    while let piece = await task.control.next() {
      guard await hand(piece) else {
        // Ends the exchange: the server need not send what nobody wants, nor wait for a taker. Cancelled, it has ended already.
        if !Task.isCancelled { task.end(because: Self.refusal) }
        return false
      }
    }
    return true
  }

  /// The last answer is there, and what came before it was taken or not: hands on what is left of its body.
  func finish(_ response: ResourceResponse, isTaken: Bool) async throws(ResourceError) -> ResourceResponse {
    guard isTaken, await hand(response.body) else {
      throw ResourceError(.requestCancelled, Self.refusal, outcome: .replied)
    }
    var response = response
    response.body = []
    response.isStreamed = true
    return response
  }

  /// False when it is not taken, or the calling task was cancelled.
  private func hand(_ piece: [UInt8]) async -> Bool {
    let largest = TransferControl.pieceBytes
    for start in stride(from: 0, to: piece.count, by: largest) {
      let part = piece.count > largest ? Array(piece[start..<min(start + largest, piece.count)]) : piece
      guard !Task.isCancelled, await deliver(part) else { return false }
    }
    return true
  }
}
