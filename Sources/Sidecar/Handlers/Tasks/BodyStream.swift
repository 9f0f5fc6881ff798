import PosternJSONRPC
import PosternProtocol

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
