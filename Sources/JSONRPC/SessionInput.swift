public import JSON

/// What the transport delivers for one connection, framing already undone.
public enum SessionInput: Sendable {
  /// One complete text, parsed. `sharesLine`: no line feed stood between the text before and this one.
  case text(Result<JSONValue, JSONParseError>, sharesLine: Bool)
  /// Bytes that cannot be a JSON text; the framing skips to the next line feed by itself.
  case malformed(String, sharesLine: Bool)
  /// A message over the size limit; its bytes are discarded by the framing.
  case oversized(sharesLine: Bool)
  /// Bytes after which the conversation cannot go on.
  case violation(String)
}
