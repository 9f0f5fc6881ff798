import HTTPMessages
import PosternJSON
import PosternJSONRPC
import PosternSupport

/// Sends a response in pieces to the connection that asked for it, no faster than it reads: its head as
/// `fetchResource.head`, its body as `fetchResource.chunk`.
final class ChunkDelivery: Sendable {
  private let caller: Caller
  private let task: String
  private let sequence = Locked<Int64>(0)

  init(to caller: Caller, task: String) {
    self.caller = caller
    self.task = task
  }

  /// False when the connection is gone.
  @Sendable func deliver(_ head: HTTPResponseHead) async -> Bool {
    guard let session = caller.session else { return false }
    return await session.notifyInTurn("fetchResource.head", FetchResult.make(head, task: task))
  }

  /// False when the connection is gone. Called by one at a time.
  @Sendable func deliver(_ piece: [UInt8]) async -> Bool {
    guard let session = caller.session else { return false }
    let number = sequence.withLock { sequence in
      defer { sequence += 1 }
      return sequence
    }
    return await session.notifyInTurn(
      "fetchResource.chunk",
      ["task": .string(task), "sequence": .integer(number), "dataBase64": .string(Base64.string(piece))])
  }
}
