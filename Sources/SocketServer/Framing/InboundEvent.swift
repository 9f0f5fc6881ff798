/// What one connection delivers, in the order of its bytes.
///
/// `sharesLine` is true where, in stream framing, no line feed stood between the end of the previous text and the
/// start of this one. Whoever refuses a text that was whole by its brackets (a duplicate member name, say) drops the
/// following ones that share its line: a malformed text costs what stands before the next line feed.
public enum InboundEvent: Sendable, Hashable {
  /// One complete JSON text (stream framing), or one message body, possibly empty (header framing).
  case text(MessageBytes, sharesLine: Bool)
  /// Bytes that cannot be a JSON text, or a message cut off by the peer's half-close. In stream framing everything up
  /// to the next line feed is already being skipped.
  case malformed(reason: String, sharesLine: Bool)
  /// A message over `limit` bytes; the rest of it is read and thrown away. Reported once per message.
  case oversized(limit: Int, sharesLine: Bool)
  /// A message of more than `limit` JSON values; the rest of it is read and thrown away. Reported once per message.
  case tooComplex(limit: Int, sharesLine: Bool)
  /// More than `limit` bytes of unfinished messages have come from the peer's uid. Nothing more is read: answer once
  /// with `sendAndClose`.
  case crowded(limit: Int)
  /// An unusable first byte or header block. Nothing after it is read as messages: answer once with `sendAndClose`.
  case violation(reason: String)
}

extension InboundEvent {
  /// Messages of so many bytes take a millisecond or more to parse.
  static let longText = 128 << 10

  /// How many bytes of a message it has.
  var byteCount: Int {
    guard case .text(let text, _) = self else { return 0 }
    return text.count
  }

  /// Whether it may be handled away from the event loop: a delegate that does so pauses the connection meanwhile.
  public var isLong: Bool { byteCount >= Self.longText }
}
