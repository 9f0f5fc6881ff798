import CJansson

/// What jansson has written so far, in a buffer of its own: jansson hands over a few bytes at a time, which must cost next to nothing.
///
/// Belongs to one call of `JSONWriter.withBytes`, never shared.
final class WrittenText {
  private var buffer: UnsafeMutableRawBufferPointer
  private var count = 0
  private let spliced: [String]

  init(spliced: [String]) {
    self.spliced = spliced
    let expected = spliced.reduce(1024) { $0 + $1.utf8.count + $1.utf8.count / 16 }
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
      return JSONEscaping.escape(spliced[index]) { write($0) }
    }
    write(piece)
  }

  private func write(_ piece: UnsafeRawBufferPointer) {
    guard let source = piece.baseAddress else { return }
    if piece.count > buffer.count - count { grow(for: piece.count) }
    buffer.baseAddress?.advanced(by: count).copyMemory(from: source, byteCount: piece.count)
    count += piece.count
  }

  private func grow(for needed: Int) {
    let larger = UnsafeMutableRawBufferPointer.allocate(
      byteCount: max(buffer.count * 2, count + needed), alignment: 1)
    larger.copyMemory(from: bytes)
    buffer.deallocate()
    buffer = larger
  }
}
