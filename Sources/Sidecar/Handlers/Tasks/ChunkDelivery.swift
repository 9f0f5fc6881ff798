import HTTPMessages
import PosternJSON
import PosternJSONRPC
import PosternProtocol
import PosternSupport

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
    var members: JSONObject = ["task": .string(task), "status": .integer(Int64(head.status))]
    members["reason"] = head.reason.map { .string($0) }
    members["url"] = .string(head.url.description)
    members["headers"] = ResponseHeaders(head.fields).json
    return await conversation.notifyInTurn("fetchResource.head", .object(members))
  }

  private var fields: String {
    "Content-Type: application/octet-stream\r\nPostern-Task: \(Self.fieldValue(task))\r\n"
  }

  /// The task's name as a field's value: other characters than visible ones of ASCII, and `%`, are percent-encoded.
  static func fieldValue(_ task: String) -> String {
    var value: [UInt8] = []
    for byte in task.utf8 {
      if (0x21...0x7E).contains(byte), byte != UInt8(ascii: "%") {
        value.append(byte)
      } else {
        PercentEncoding.append(byte, to: &value)
      }
    }
    return String(decoding: value, as: UTF8.self)
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

/// How a body is sent to the caller while it is received.
enum BodyStream: Sendable, Equatable {
  /// In pieces; with the response's head before them, and as frames instead of notifications.
  case pieces(withHead: Bool, asFrames: Bool)

  /// The stream that `params` request; nil: the result contains the body.
  static func requested(by params: FetchResource.Params, hasFrames: Bool) throws(RPCFault) -> BodyStream? {
    guard params.stream == true else {
      guard params.bodyAs == nil else {
        throw .invalidParams("bodyAs goes with stream", path: "/bodyAs")
      }
      guard params.streamHead != true else {
        throw .invalidParams("streamHead goes with stream: the head comes before the pieces", path: "/streamHead")
      }
      return nil
    }
    guard params.bodyAs == nil || hasFrames else {
      throw .invalidParams("bodyAs needs header framing (Content-Length)", path: "/bodyAs")
    }
    return .pieces(withHead: params.streamHead == true, asFrames: params.bodyAs == .frames)
  }
}
