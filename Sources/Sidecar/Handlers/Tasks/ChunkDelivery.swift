import HTTPMessages
import PosternJSON
import PosternJSONRPC
import PosternSupport
import SidecarAccess

/// Sends a response in pieces to the calling connection, no faster than it reads: its head as
/// `fetchResource.head`, its body as `fetchResource.chunk`.
final class ChunkDelivery: Sendable {
  private let caller: PeerConnection
  private let task: String
  private let sequence = Locked<Int64>(0)

  init(to caller: PeerConnection, task: String) {
    self.caller = caller
    self.task = task
  }

  /// False when the connection is gone.
  @Sendable func deliver(_ head: HTTPResponseHead) async -> Bool {
    guard let conversation = caller.conversation else { return false }
    return await conversation.notifyInTurn("fetchResource.head", FetchResult.text(head, task: task).value)
  }

  /// False when the connection is gone. Called by one at a time.
  @Sendable func deliver(_ piece: [UInt8]) async -> Bool {
    guard let conversation = caller.conversation else { return false }
    let number = sequence.withLock { sequence in
      defer { sequence += 1 }
      return sequence
    }
    return await conversation.notifyInTurn(
      "fetchResource.chunk",
      ["task": .string(task), "sequence": .integer(number), "dataBase64": .string(Base64.string(piece))])
  }
}
