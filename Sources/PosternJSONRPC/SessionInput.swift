public import PosternJSON

/// What the transport delivers for one connection, framing already undone.
public enum SessionInput: Sendable {
  /// One complete text, parsed. `sharesLine`: no line feed stood between the text before and this one.
  case text(Result<JSONValue, JSONParseError>, sharesLine: Bool)
  /// Bytes that cannot be a JSON text; the framing skips to the next line feed by itself.
  case malformed(String, sharesLine: Bool)
  /// A message of more than `limit` bytes; they are discarded by the framing.
  case oversized(limit: Int, sharesLine: Bool)
  /// A message of more than `limit` JSON values; its bytes are discarded by the framing.
  case tooComplex(limit: Int, sharesLine: Bool)
  /// More than `limit` bytes of unfinished messages have come from the caller's user: this one is given up, and the
  /// connection with it.
  case crowded(limit: Int)
  /// Bytes after which the conversation cannot go on.
  case violation(String)
}
