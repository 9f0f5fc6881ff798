import HTTPMessages

/// Carries a response from the transport to whoever takes it in pieces, while the exchange runs.
struct BodyDelivery {
  /// What has become of the parts that came while the exchange ran.
  struct Taken {
    /// Whether each of them was taken.
    var isWhole = true
    /// Whether the head was among them.
    var hasHead = false
  }

  private static let refusal = "nobody takes the body any more"

  let task: NetworkTask
  let deliver: @Sendable ([UInt8]) async -> Bool
  let deliverHead: (@Sendable (HTTPResponseHead) async -> Bool)?

  /// Hands parts on until there are no more, or one is not taken. Runs beside the exchange, as a child of who waits for
  /// it: where it runs, so that a piece needs no way between threads.
  func pump() async -> Taken {
    var taken = Taken()
    while let part = await task.control.next() {
      let isTaken: Bool
      switch part {
      case .head(let head):
        taken.hasHead = true
        isTaken = await hand(head)
      case .piece(let piece): isTaken = await hand(piece)
      }
      guard isTaken else {
        // Ends the exchange: the server need not send what nobody wants, nor wait for a taker. Cancelled, it has ended
        // already.
        if !Task.isCancelled { task.end(because: Self.refusal) }
        taken.isWhole = false
        break
      }
    }
    return taken
  }

  /// The last answer is there, and what came before it was taken or not: hands on what is left of it.
  func finish(_ response: ResourceResponse, after taken: Taken) async throws(ResourceError) -> ResourceResponse {
    let head = HTTPResponseHead(
      status: response.status, reason: response.reason, url: response.url, fields: response.fields)
    // The head first: what is not taken is followed by nothing.
    var isTaken = taken.isWhole
    if isTaken, !taken.hasHead { isTaken = await hand(head) }
    guard isTaken, await hand(response.body) else {
      throw ResourceError(.requestCancelled, Self.refusal, outcome: .replied)
    }
    var response = response
    response.body = []
    response.isStreamed = true
    return response
  }

  /// False when it is not taken, or the calling task was cancelled.
  private func hand(_ head: HTTPResponseHead) async -> Bool {
    guard let deliverHead else { return true }
    guard !Task.isCancelled else { return false }
    return await deliverHead(head)
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
