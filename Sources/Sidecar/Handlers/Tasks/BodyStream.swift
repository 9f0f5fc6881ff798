import PosternJSONRPC
import PosternProtocol

/// How a body is sent to the caller while it is received.
enum BodyStream: Sendable {
  /// In pieces.
  case pieces
  /// In pieces, with the response's head before them.
  case headAndPieces

  /// The stream that `params` request; nil: the result contains the body.
  static func requested(by params: FetchResource.Params) throws(RPCFault) -> BodyStream? {
    guard params.stream == true else {
      guard params.streamHead != true else {
        throw .invalidParams("streamHead goes with stream: the head comes before the pieces", path: "/streamHead")
      }
      return nil
    }
    return params.streamHead == true ? .headAndPieces : .pieces
  }
}
