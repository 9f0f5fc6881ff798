import PosternJSONRPC
import PosternProtocol

/// How a body goes out while it comes.
enum BodyStream: Sendable {
  /// In pieces.
  case pieces
  /// In pieces, with the response's head before them.
  case headAndPieces

  /// What `params` ask for; nil: the body stands in the result.
  static func asked(for params: FetchResource.Params) throws(RPCFault) -> BodyStream? {
    guard params.stream == true else {
      guard params.streamHead != true else {
        throw .invalidParams("streamHead goes with stream: the head comes before the pieces", path: "/streamHead")
      }
      return nil
    }
    return params.streamHead == true ? .headAndPieces : .pieces
  }
}
