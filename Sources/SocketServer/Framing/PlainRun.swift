/// The stretch of a JSON string that needs no look byte by byte: eight bytes at a time.
enum PlainRun {
  /// The index of the first quotation mark, reverse solidus or control character in `from..<to`, or `to`.
  @inline(__always)
  static func end(of base: UnsafeRawPointer, from: Int, to: Int) -> Int {
    var index = from
    while index &+ 8 <= to {
      let word = UInt64(littleEndian: base.loadUnaligned(fromByteOffset: index, as: UInt64.self))
      let special = zeroBytes(word ^ repeated(0x22)) | zeroBytes(word ^ repeated(0x5C)) | bytesBelow32(word)
      // The lowest mark is exact; borrows can only make false ones above it.
      if special != 0 { return index &+ special.trailingZeroBitCount &>> 3 }
      index &+= 8
    }
    while index < to {
      let byte = base.load(fromByteOffset: index, as: UInt8.self)
      if byte == 0x22 || byte == 0x5C || byte < 0x20 { return index }
      index &+= 1
    }
    return to
  }

  @inline(__always)
  private static func repeated(_ byte: UInt64) -> UInt64 { byte &* 0x0101_0101_0101_0101 }

  /// Marks the top bit of bytes that are zero.
  @inline(__always)
  private static func zeroBytes(_ word: UInt64) -> UInt64 {
    (word &- repeated(0x01)) & ~word & repeated(0x80)
  }

  /// Marks the top bit of bytes below 0x20.
  @inline(__always)
  private static func bytesBelow32(_ word: UInt64) -> UInt64 {
    (word &- repeated(0x20)) & ~word & repeated(0x80)
  }
}
