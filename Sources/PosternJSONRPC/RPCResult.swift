public import PosternJSON

/// What a call resulted in.
public enum RPCResult: Sendable {
  /// A value, to be written.
  case value(JSONValue)
  /// A value that has been written already.
  case text(JSONText)
}
