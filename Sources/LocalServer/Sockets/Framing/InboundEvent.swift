/// An event of one connection, in the order of its bytes.
///
/// `sharesLine` is true where, in stream framing, there was no line feed between the end of the previous text and the
/// start of this one. A receiver that rejects a text that was complete by its brackets (a duplicate member name, say)
/// drops the following ones that share its line: a malformed text costs everything before the next line feed.
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
  /// More than `limit` bytes of unfinished messages have come from the peer's uid. Nothing more is read: answer once,
  /// then `closeAfterFlush`.
  case crowded(limit: Int)
  /// An unusable first byte or header block. Nothing after it is read as messages: answer once, then
  /// `closeAfterFlush`.
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

/// How messages are told apart on one connection; fixed by the first non-blank byte the peer sends.
public enum Framing: Sendable, Hashable {
  /// JSON texts one after another; what is sent is one text and one line feed. Also before the first byte.
  case stream
  /// `Content-Length` header blocks as in the LSP base protocol.
  case headers
}

/// The bytes of one message, read in place.
///
/// A small message is a window into the buffer that the read filled (up to 64 KiB), which stays alive as long as this
/// value does: parse it and let it go, or keep a copy.
public struct MessageBytes: Sendable, Hashable {
  let buffer: ByteBuffer

  init(_ buffer: ByteBuffer) { self.buffer = buffer }

  /// A copy of `bytes`.
  public init(_ bytes: some Sequence<UInt8>) { buffer = ByteBuffer(bytes) }

  /// How many bytes there are.
  public var count: Int { buffer.count }

  /// Runs `body` over the bytes; the pointer is good until it returns.
  @inlinable
  public func withUnsafeBytes<Result, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    // Inlined into the caller, so that only the plain call below crosses the module: this runs once per message.
    var outcome: Swift.Result<Result, Failure>?
    withPointer { pointer in
      do throws(Failure) {
        outcome = .success(try body(pointer))
      } catch {
        outcome = .failure(error)
      }
    }
    guard let outcome else { preconditionFailure("withPointer calls its body exactly once") }
    return try outcome.get()
  }

  @usableFromInline
  func withPointer(_ body: (UnsafeRawBufferPointer) -> Void) { buffer.withUnsafeBytes(body) }

  /// A copy of the bytes.
  public var bytes: [UInt8] { buffer.bytes }

  /// The bytes of `range`, counted from the start of this message, without a copy.
  func window(_ range: Range<Int>) -> ByteBuffer {
    buffer.window(range)
  }
}
