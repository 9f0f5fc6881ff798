import CPosternJansson

/// A growing buffer for JSON text. jansson passes a few bytes at a time, so appending must be cheap.
///
/// Used by one call of `JSONWriter.withBytes` or one `JSONComposer`, never shared.
final class WrittenText {
  /// The number of bytes of a long string that are escaped at a time; the buffer is grown for the worst case first.
  private static let chunk = 4096

  private var buffer: UnsafeMutableRawBufferPointer
  private var count = 0
  private let spliced: [String]

  init(spliced: [String]) {
    self.spliced = spliced
    let rest = spliced.isEmpty ? 1024 : 1024 + Self.chunk * JSONEscaping.longest
    let expected = spliced.reduce(rest) { $0 + $1.utf8.count + $1.utf8.count / 16 }
    buffer = .allocate(byteCount: expected, alignment: 1)
  }

  deinit { buffer.deallocate() }

  /// The text so far; valid until something is appended.
  var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: buffer[..<count]) }

  /// jansson's `json_dump_callback_t`.
  static let append: json_dump_callback_t = { pointer, count, data in
    guard let pointer, let data else { return -1 }
    let piece = UnsafeRawBufferPointer(start: pointer, count: count)
    Unmanaged<WrittenText>.fromOpaque(data).takeUnretainedValue().append(piece)
    return 0
  }

  private func append(_ piece: UnsafeRawBufferPointer) {
    if !spliced.isEmpty, let index = SplicePoint.index(of: piece), index < spliced.count {
      return escape(spliced[index])
    }
    write(piece)
  }

  /// Appends bytes as they are.
  func write(_ piece: UnsafeRawBufferPointer) {
    guard let source = piece.baseAddress else { return }
    reserve(piece.count).copyMemory(from: source, byteCount: piece.count)
    count += piece.count
  }

  /// Appends the inside of a JSON string.
  func escape(_ string: String) {
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
