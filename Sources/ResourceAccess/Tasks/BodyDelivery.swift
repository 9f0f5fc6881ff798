import HTTPMessages
import PosternSupport

/// Delivers a response in pieces to its caller, while the exchange runs.
struct BodyDelivery {
  /// How many of the parts that came during the exchange were taken.
  struct Taken {
    /// Whether each of them was taken.
    var isWhole = true
    /// Whether the head was among them.
    var hasHead = false
  }

  /// The delivery of one call: beside its exchange where that goes on while a part waits, else behind it.
  final class Running: Sendable {
    private struct State {
      var taken = Taken()
      var pump: Task<Void, Never>?
    }

    private let delivery: BodyDelivery
    private let turn: CallTurn
    private let state = Locked(State())

    init(_ delivery: BodyDelivery, in turn: CallTurn) {
      self.delivery = delivery
      self.turn = turn
    }

    /// Begins to deliver beside the exchange; at most once, and before that has ended.
    func begin() {
      let pump = turn.accompany { [delivery, state] in
        let taken = await delivery.pump()
        state.withLock { $0.taken = taken }
      }
      state.withLock { $0.pump = pump }
    }

    /// The largest body that is returned with its response: what takes it need not wait for its reader.
    private static let wholeBytes = 64 << 10

    /// The response of the exchange with its body; nil where there is none, it is large, or some of it is being
    /// delivered.
    func whole(_ result: Result<ResourceResponse, ResourceError>) -> ResourceResponse? {
      guard case .success(var response) = result, state.withLock({ $0.pump == nil }),
        response.body.count + delivery.task.control.unreadBytes <= Self.wholeBytes
      else { return nil }
      delivery.task.control.finish()
      let body = delivery.task.control.takeWholeBody()
      if !body.isEmpty { response.body = body }
      return response
    }

    private func delivered() async -> Taken {
      guard let pump = state.withLock({ $0.pump }) else { return await delivery.pump() }
      await pump.value
      return state.withLock { $0.taken }
    }

    /// Delivers what is left behind `result`, the exchange's.
    func finish(_ result: Result<ResourceResponse, ResourceError>) async -> Result<ResourceResponse, ResourceError> {
      delivery.task.control.finish()
      do throws(ResourceError) {
        let response = try result.get()
        return .success(try await delivery.finish(response, after: await delivered()))
      } catch {
        // The pieces that came before the server broke off are delivered before the error; a fetch that fails otherwise
        // has no use for the rest of the body.
        if error.outcome != .replied || [.requestCancelled, .deadlineExceeded].contains(error.code) {
          let pump = state.withLock { $0.pump }
          pump?.cancel()
          await pump?.value
        } else {
          _ = await delivered()
        }
        return .failure(error)
      }
    }
  }

  private static let rejection = "the body is no longer taken"

  let task: NetworkTask
  let deliver: @Sendable ([UInt8]) async -> Bool
  let deliverHead: (@Sendable (HTTPResponseHead) async -> Bool)?
  /// The largest piece, in bytes.
  let largest: Int
  /// Hides the credential of the request in the head.
  let echo: CredentialEcho?

  /// Delivers parts until there are no more, or one is not taken. Runs concurrently with the exchange, and where the call
  /// runs, so that a piece need not change threads.
  private func pump() async -> Taken {
    var taken = Taken()
    while let part = await task.control.next() {
      let isTaken: Bool
      switch part {
      case .head(let head):
        taken.hasHead = true
        isTaken = await hand(await echo?.hidden(in: head) ?? head)
      case .piece(let piece): isTaken = await hand(piece)
      }
      guard isTaken else {
        // Ends the exchange: the rest of the body has no use, and the server must not wait. A cancelled one has ended
        // already.
        if !Task.isCancelled { task.end(because: Self.rejection) }
        taken.isWhole = false
        break
      }
    }
    return taken
  }

  /// The last answer is there, and what came before it was taken or not: hands on what is left of it.
  private func finish(_ response: ResourceResponse, after taken: Taken) async throws(ResourceError) -> ResourceResponse
  {
    let head = HTTPResponseHead(
      status: response.status, reason: response.reason, url: response.url, fields: response.fields)
    // The head first: what is not taken is followed by nothing.
    var isTaken = taken.isWhole
    if isTaken, !taken.hasHead { isTaken = await hand(head) }
    guard isTaken, await hand(response.body) else {
      throw ResourceError(.requestCancelled, Self.rejection, outcome: .replied)
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
    for start in stride(from: 0, to: piece.count, by: largest) {
      let part = piece.count > largest ? Array(piece[start..<min(start + largest, piece.count)]) : piece
      guard !Task.isCancelled, await deliver(part) else { return false }
    }
    return true
  }
}

/// Sends a request whose body is read meanwhile.
struct BodySending {
  let supply: BodySupply
  let control: TransferControl

  /// The response, and why the body could not be read; nil: it was, or the response came first.
  func send(
    _ send: () async -> Result<HTTPResponse, TransportError>
  ) async -> (result: Result<HTTPResponse, TransportError>, failure: String?) {
    control.beginUpload()
    return await withTaskGroup(of: String?.self) { group in
      group.addTask { await pump() }
      let result = await send()
      // What is not sent by now is not needed any more.
      control.finishUpload()
      group.cancelAll()
      return (result, await group.next() ?? nil)
    }
  }

  /// Reads the body to its end, or as long as the request needs it.
  private func pump() async -> String? {
    while true {
      switch await supply.next() {
      case .bytes(let bytes):
        guard !bytes.isEmpty else {
          control.endUpload(.complete)
          return nil
        }
        guard await control.upload(bytes) else { return nil }
      case .failed(let reason):
        guard !Task.isCancelled else { return nil }
        control.endUpload(.failed)
        return reason
      }
    }
  }
}
