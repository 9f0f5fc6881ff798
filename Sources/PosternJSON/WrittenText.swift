import PosternSupport

/// A growing buffer for JSON text.
///
/// Used by one call of `JSONWriter.withBytes` or one `JSONComposer`. Nothing changes it once it is a `JSONText`, so any
/// thread may read that.
final class WrittenText: @unchecked Sendable {
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
    string.withUTF8 { _ = quote(UnsafeRawBufferPointer($0)) }
  }

  /// Appends a string with its capital ASCII letters in lower case.
  func quoteLowercased(_ string: String) {
    let start = count
    quote(string)
    guard count &- start == string.utf8.count &+ 2 else {
      // The letters of an escape are capitals.
      count = start
      return quote(string.lowercasedASCII())
    }
    for position in start..<count {
      let byte = base.load(fromByteOffset: position, as: UInt8.self)
      base.storeBytes(of: ASCIICase.lowercased(byte), toByteOffset: position, as: UInt8.self)
    }
  }

  /// Appends bytes as a string behind `before`; false, and nothing is appended, if they are not UTF-8.
  func quote(_ text: [UInt8], behind before: StaticString) -> Bool {
    let start = count
    literal(before)
    let isASCII = text.withUnsafeBytes { quote($0) }
    guard isASCII || (try? UTF8Span(validating: text.span)) != nil else {
      count = start
      return false
    }
    return true
  }

  /// Appends a string with its quotation marks; whether it is all ASCII.
  private func quote(_ text: UnsafeRawBufferPointer) -> Bool {
    quotationMark()
    var high: UInt64 = 0
    var rest = text
    while !rest.isEmpty {
      // Enough if nothing has to be escaped; the buffer doubles as it fills up with escapes.
      reserve(rest.count &+ JSONEscaping.step)
      let room = UnsafeMutableRawBufferPointer(start: base + count, count: capacity &- count)
      let step = JSONEscaping.escape(rest, into: room)
      count &+= step.written
      high |= step.high
      rest = UnsafeRawBufferPointer(rebasing: rest[step.read...])
    }
    quotationMark()
    return high == 0
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
