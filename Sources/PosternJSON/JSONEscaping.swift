/// Escaping of JSON strings (RFC 8259 section 7): quotation mark, reverse solidus and control characters. Gives the
/// same bytes as jansson.
enum JSONEscaping {
  /// The least room for one step: a word of eight bytes, of which the last is replaced by the longest escape, `\u00XX`.
  static let step = 14

  /// Escapes the beginning of `text` into `room`, as far as that is sure to suffice: at least one byte when it has
  /// `step` bytes, and all of a text without escapes when it has `step` bytes more than the text. Bytes that need no
  /// escape are copied eight at a time, and 32 at a time if none of these needs one. `high` has the highest bit of a
  /// byte set if a byte that was read is not ASCII.
  static func escape(
    _ text: UnsafeRawBufferPointer, into room: UnsafeMutableRawBufferPointer
  ) -> (read: Int, written: Int, high: UInt64) {
    guard let source = text.baseAddress, let target = room.baseAddress, room.count >= step else { return (0, 0, 0) }
    let count = text.count
    let last = room.count &- step
    var read = 0
    var written = 0
    var high: UInt64 = 0
    func word(_ offset: Int) -> UInt64 {
      UInt64(littleEndian: source.loadUnaligned(fromByteOffset: read &+ offset, as: UInt64.self))
    }
    func put(_ word: UInt64) {
      target.storeBytes(of: word.littleEndian, toByteOffset: written, as: UInt64.self)
    }
    func advance(by bytes: Int) {
      read &+= bytes
      written &+= bytes
    }
    func putEscape() {
      written &+= writeEscape(of: source.load(fromByteOffset: read, as: UInt8.self), to: target + written)
      read &+= 1
    }
    while read &+ 8 <= count, written <= last {
      let next = word(0)
      let marks = escapes(next)
      high |= next
      // All eight bytes: those from the first escape on are overwritten.
      put(next)
      advance(by: marks.trailingZeroBitCount >> 3)
      guard marks == 0 else {
        putEscape()
        continue
      }
      // After a word without escapes there may be more of them.
      while read &+ 32 <= count, written &+ 32 <= room.count {
        let (first, second, third, fourth) = (word(0), word(8), word(16), word(24))
        guard escapes(first) | escapes(second) | escapes(third) | escapes(fourth) == 0 else { break }
        high |= first | second | third | fourth
        put(first)
        advance(by: 8)
        put(second)
        advance(by: 8)
        put(third)
        advance(by: 8)
        put(fourth)
        advance(by: 8)
      }
    }
    while read < count, written <= last {
      let byte = source.load(fromByteOffset: read, as: UInt8.self)
      high |= UInt64(byte)
      guard escapes(UInt64(byte) | 0x2020_2020_2020_2000) == 0 else {
        putEscape()
        continue
      }
      target.storeBytes(of: byte, toByteOffset: written, as: UInt8.self)
      advance(by: 1)
    }
    return (read, written, high & highBits)
  }

  private static let highBits: UInt64 = 0x8080_8080_8080_8080

  /// The highest bit of each byte of `word` that is below 0x20, a quotation mark or a reverse solidus ("Bit Twiddling
  /// Hacks", haszero and hasless). The lowest bit set is exact; higher ones may be false positives.
  private static func escapes(_ word: UInt64) -> UInt64 {
    let ones: UInt64 = 0x0101_0101_0101_0101
    func zeroBytes(_ value: UInt64) -> UInt64 { (value &- ones) & ~value }
    let control = (word &- ones &* 0x20) & ~word
    let quote = zeroBytes(word ^ (ones &* UInt64(UInt8(ascii: "\""))))
    let solidus = zeroBytes(word ^ (ones &* UInt64(UInt8(ascii: "\\"))))
    return (control | quote | solidus) & highBits
  }

  @inline(__always)
  private static func writeEscape(of byte: UInt8, to target: UnsafeMutableRawPointer) -> Int {
    let short: UInt8
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"): short = byte
    case 0x08: short = UInt8(ascii: "b")
    case 0x0C: short = UInt8(ascii: "f")
    case 0x0A: short = UInt8(ascii: "n")
    case 0x0D: short = UInt8(ascii: "r")
    case 0x09: short = UInt8(ascii: "t")
    default:
      let digit = byte & 15
      let last = digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "A") + digit - 10
      target.copyMemory(from: "\\u00", byteCount: 4)
      target.storeBytes(of: UInt8(ascii: "0") + (byte >> 4), toByteOffset: 4, as: UInt8.self)
      target.storeBytes(of: last, toByteOffset: 5, as: UInt8.self)
      return 6
    }
    // Both characters at once, the reverse solidus first.
    target.storeBytes(of: (UInt16(short) << 8 | UInt16(UInt8(ascii: "\\"))).littleEndian, as: UInt16.self)
    return 2
  }
}
