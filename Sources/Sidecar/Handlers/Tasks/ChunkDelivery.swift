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
  private let asFrames: Bool
  private let sequence = Locked<Int64>(0)

  init(to caller: PeerConnection, task: String, asFrames: Bool) {
    self.caller = caller
    self.asFrames = asFrames
    self.task = task
  }

  /// False when the connection is gone.
  @Sendable func deliver(_ head: HTTPResponseHead) async -> Bool {
    guard let conversation = caller.conversation else { return false }
    return await conversation.notifyInTurn("fetchResource.head", FetchResult.text(head, task: task).value)
  }

  private var fields: String {
    "Content-Type: application/octet-stream\r\nPostern-Task: \(Self.fieldValue(task))\r\n"
  }

  /// The task's name as a field's value: other characters than visible ones of ASCII, and `%`, are percent-encoded.
  static func fieldValue(_ task: String) -> String {
    var value = ""
    for byte in task.utf8 {
      if (0x21...0x7E).contains(byte), byte != UInt8(ascii: "%") {
        value.unicodeScalars.append(Unicode.Scalar(byte))
      } else {
        value += "%" + Hexadecimal.string([byte]).uppercasedASCII()
      }
    }
    return value
  }

  /// False when the connection is gone. Called by one at a time.
  @Sendable func deliver(_ piece: [UInt8]) async -> Bool {
    guard let conversation = caller.conversation else { return false }
    // A fetch may be continued on a connection without frames.
    if asFrames, conversation.hasFrames { return await conversation.frameInTurn(fields, piece) }
    let number = sequence.withLock { sequence in
      defer { sequence += 1 }
      return sequence
    }
    return await conversation.notifyInTurn(
      "fetchResource.chunk",
      ["task": .string(task), "sequence": .integer(number), "dataBase64": .string(Base64.string(piece))])
  }
}
