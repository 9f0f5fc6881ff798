import PosternJSON

/// The error with which the caller answered a request of ours.
public struct PeerError: Error, Sendable {
  /// The caller's code, where it gave one.
  public let code: Int64?
  /// The caller's message, where it gave one.
  public let message: String?

  init(_ json: JSONValue) {
    code = json["code"]?.integerValue
    message = json["message"]?.stringValue
  }

  init(message: String) {
    code = nil
    self.message = message
  }
}
