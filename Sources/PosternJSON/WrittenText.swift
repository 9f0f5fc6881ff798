/// A growing buffer for JSON text.
///
/// Used by one call of `JSONWriter.withBytes` or one `JSONComposer`, never shared.
final class WrittenText {
  /// The most memory that is taken before there are bytes for it.
  static let reservedAtMost = 4 << 20

  private var base: UnsafeMutableRawPointer
  private var capacity: Int
  private var count = 0

  /// A buffer for a text of about `capacity` bytes.
  init(capacity: Int) {
    self.capacity = 256 + capacity + capacity / 16
    base = .allocate(byteCount: self.capacity, alignment: 1)
  }

  deinit { base.deallocate() }

  /// The text so far; valid until something is appended.
  var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: base, count: count) }

  /// Appends bytes as they are.
  func write(_ piece: UnsafeRawBufferPointer) {
    guard let source = piece.baseAddress else { return }
    reserve(piece.count)
    (base + count).copyMemory(from: source, byteCount: piece.count)
    count &+= piece.count
  }

  /// Appends a constant as it is.
  func literal(_ piece: StaticString) {
    write(UnsafeRawBufferPointer(start: piece.utf8Start, count: piece.utf8CodeUnitCount))
  }

  /// Appends a string with its quotation marks, escaped as needed (RFC 8259 section 7).
  func quote(_ string: String) {
    var string = string
    string.withUTF8 { text in
      quotationMark()
      var rest = UnsafeRawBufferPointer(text)
      while !rest.isEmpty {
        // Enough if nothing has to be escaped; the buffer doubles as it fills up with escapes.
        reserve(rest.count &+ JSONEscaping.step)
        let room = UnsafeMutableRawBufferPointer(start: base + count, count: capacity &- count)
        let (read, written) = JSONEscaping.escape(rest, into: room)
        count &+= written
        rest = UnsafeRawBufferPointer(rebasing: rest[read...])
      }
      quotationMark()
    }
  }

  private func quotationMark() {
    reserve(1)
    base.storeBytes(of: UInt8(ascii: "\""), toByteOffset: count, as: UInt8.self)
    count &+= 1
  }

  /// Makes room for the next `needed` bytes.
  @inline(__always)
  private func reserve(_ needed: Int) {
    if needed > capacity &- count { grow(for: needed) }
  }

  @inline(never)
  private func grow(for needed: Int) {
    capacity = max(capacity * 2, count + needed)
    let larger = UnsafeMutableRawPointer.allocate(byteCount: capacity, alignment: 1)
    larger.copyMemory(from: base, byteCount: count)
    base.deallocate()
    base = larger
  }
}
