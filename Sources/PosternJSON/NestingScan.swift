import Glibc

/// Finds out how deep a text nests before it is parsed: one pass, brackets inside strings not counted.
enum NestingScan {
  /// The offset of the first bracket that opens a level beyond `limit`, or nil.
  static func firstOffset(deeperThan limit: Int, in buffer: UnsafeRawBufferPointer) -> Int? {
    // A text cannot be deeper than half of its bytes, rounded up for one that is cut off.
    guard buffer.count > limit else { return nil }
    // Nor deeper than it has opening brackets, inside strings or not, and most texts have few of them.
    let openings = count(UInt8(ascii: "{"), in: buffer, upTo: limit + 1)
    guard openings + count(UInt8(ascii: "["), in: buffer, upTo: limit + 1) > limit else { return nil }
    var depth = 0
    var inString = false
    var escaped = false
    for offset in buffer.indices {
      let byte = buffer[offset]
      if inString {
        if escaped {
          escaped = false
        } else if byte == UInt8(ascii: "\\") {
          escaped = true
        } else if byte == UInt8(ascii: "\"") {
          inString = false
        }
      } else if byte == UInt8(ascii: "\"") {
        inString = true
      } else if byte == UInt8(ascii: "{") || byte == UInt8(ascii: "[") {
        depth += 1
        if depth > limit { return offset }
      } else if byte == UInt8(ascii: "}") || byte == UInt8(ascii: "]") {
        depth -= 1
      }
    }
    return nil
  }

  /// How often `byte` occurs, counted no further than `limit`.
  private static func count(_ byte: UInt8, in buffer: UnsafeRawBufferPointer, upTo limit: Int) -> Int {
    var count = 0
    var rest = buffer
    while count < limit, let base = rest.baseAddress, let found = memchr(base, Int32(byte), rest.count) {
      count += 1
      rest = UnsafeRawBufferPointer(rebasing: rest[(found - UnsafeMutableRawPointer(mutating: base) + 1)...])
    }
    return count
  }
}
