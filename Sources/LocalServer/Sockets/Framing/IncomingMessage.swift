/// The message that is being received on one connection, in either framing: its number and length, how far it was
/// scanned, and the bytes that came in earlier reads. The memory for them grows with what came, never with a length
/// that was promised.
struct IncomingMessage: Sendable {
  /// The most bytes a message may have.
  var limit: Int
  /// The most JSON values it may have.
  let values: Int
  private var scanner: JSONTextScanner
  private var collected = ByteBuffer()

  /// How many messages have begun: distinguishes one unfinished message from the next.
  private(set) var ordinal = 0
  /// How many bytes of the message have come, a header block included.
  private(set) var length = 0

  /// Messages of at most `limit` bytes, `depth` open brackets and `values` values.
  init(limit: Int, depth: Int = 128, values: Int = .max) {
    self.limit = limit
    self.values = values
    scanner = JSONTextScanner(maximumDepth: depth, maximumValues: values)
  }

  /// How many bytes of the message are kept.
  var collectedBytes: Int { collected.count }

  /// The memory that they occupy.
  var collectedCapacity: Int { collected.capacity }

  /// The next message starts here.
  mutating func begin() {
    ordinal &+= 1
    length = 0
    scanner.reset()
  }

  /// Counts bytes that have come.
  mutating func grow(by count: Int) { length += count }

  /// Scans the next bytes of the message's JSON text.
  mutating func scan(_ bytes: UnsafeRawBufferPointer, from start: Int) -> JSONTextScanner.Verdict {
    scanner.scan(bytes, from: start)
  }

  /// Keeps bytes until the rest has come.
  mutating func collect(_ piece: ByteBuffer) { collected.append(piece) }

  /// The whole message, of which `last` is the end; one that came in a single read is not copied.
  mutating func take(_ last: ByteBuffer) -> MessageBytes {
    guard collected.count > 0 else { return MessageBytes(last) }
    collected.append(last)
    defer { collected = ByteBuffer() }
    return MessageBytes(collected)
  }

  /// Drops what is kept.
  mutating func discard() { collected = ByteBuffer() }
}
