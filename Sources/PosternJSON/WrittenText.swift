/// A growing buffer for JSON text.
///
/// Used by one call of `JSONWriter.withBytes` or one `JSONComposer`, never shared.
final class WrittenText {
  /// The number of bytes of a string that are escaped at a time; the buffer is grown for the worst case first.
  private static let chunk = 4096
  /// The most memory that is taken before there are bytes for it.
  static let reservedAtMost = 4 << 20

  private var buffer: UnsafeMutableRawBufferPointer
  private var count = 0

  /// A buffer for a text of about `capacity` bytes.
  init(capacity: Int) {
    buffer = .allocate(byteCount: 256 + capacity + capacity / 16, alignment: 1)
  }

  deinit { buffer.deallocate() }

  /// The text so far; valid until something is appended.
  var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: buffer[..<count]) }

  /// Appends bytes as they are.
  func write(_ piece: UnsafeRawBufferPointer) {
    guard let source = piece.baseAddress else { return }
    reserve(piece.count).copyMemory(from: source, byteCount: piece.count)
    count += piece.count
  }

  /// Appends a constant as it is.
  func literal(_ piece: StaticString) {
    write(UnsafeRawBufferPointer(start: piece.utf8Start, count: piece.utf8CodeUnitCount))
  }

  /// Appends a string with its quotation marks, escaped as needed (RFC 8259 section 7).
  func quote(_ string: String) {
    literal("\"")
    escape(string)
    literal("\"")
  }

  /// Appends the inside of a JSON string.
  private func escape(_ string: String) {
    var string = string
    string.withUTF8 { text in
      let text = UnsafeRawBufferPointer(text)
      var start = 0
      while start < text.count {
        let piece = UnsafeRawBufferPointer(rebasing: text[start..<min(start + Self.chunk, text.count)])
        count += JSONEscaping.escape(piece, into: reserve(piece.count * JSONEscaping.longest))
        start += piece.count
      }
    }
  }

  /// The address for the next bytes, after growing the buffer for `needed` of them.
  private func reserve(_ needed: Int) -> UnsafeMutableRawPointer {
    if needed > buffer.count - count {
      let larger = UnsafeMutableRawBufferPointer.allocate(
        byteCount: max(buffer.count * 2, count + needed), alignment: 1)
      larger.copyMemory(from: bytes)
      buffer.deallocate()
      buffer = larger
    }
    guard let base = buffer.baseAddress else { preconditionFailure("the buffer is never empty") }
    return base + count
  }
}
