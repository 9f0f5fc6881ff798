public import PosternJSON

/// One request or notification to carry out.
public struct Call: Sendable {
  /// Unique within the connection.
  public let key: UInt64
  /// Nil for a notification.
  public let id: RPCID?
  /// The method's name, not yet known to exist.
  public let method: String
  /// The params, an object, or nil.
  public let params: JSONValue?
  /// How long the text is that it came in; of a batch, the whole one.
  public var byteCount = 0
  /// The params were not read, because the call was about to be refused whatever they are: it must not be carried out.
  public var isUnread = false

  /// A call of the given parts.
  public init(key: UInt64, id: RPCID?, method: String, params: JSONValue?) {
    self.key = key
    self.id = id
    self.method = method
    self.params = params
  }
}
