import CPosternJansson

/// What jansson has written so far, in a buffer of its own: jansson hands over a few bytes at a time, which must cost
/// next to nothing.
///
/// Belongs to one call of `JSONWriter.withBytes` or one `JSONComposer`, never shared.
final class WrittenText {
  /// How much of a long string is escaped at a time: the buffer always has room for the worst case of it.
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

  /// Valid as long as nothing is appended.
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
    room(for: piece.count).copyMemory(from: source, byteCount: piece.count)
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
        count += JSONEscaping.escape(piece, into: room(for: piece.count * JSONEscaping.longest))
        start += piece.count
      }
    }
  }

  /// Where the next bytes go; there is room for `needed`.
  private func room(for needed: Int) -> UnsafeMutableRawPointer {
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
