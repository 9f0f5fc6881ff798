/// A gzip member (RFC 1952) that holds its data in stored blocks (RFC 1951 section 3.2.4): valid for every decoder, no
/// compressor needed.
enum StoredGzip {
  /// Table of the reflected polynomial 0xedb88320 (RFC 1952 section 8).
  private static let table: [UInt32] = (0..<256).map { index in
    (0..<8).reduce(UInt32(index)) { value, _ in value & 1 == 1 ? 0xedb8_8320 ^ (value >> 1) : value >> 1 }
  }

  /// The gzip form of `bytes`.
  static func encode(_ bytes: [UInt8]) -> [UInt8] {
    var member: [UInt8] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255]
    var position = 0
    repeat {
      let size = min(bytes.count - position, 0xffff)
      let isLast = position + size == bytes.count
      let length = UInt16(size)
      member.append(isLast ? 1 : 0)
      for value in [length, ~length] { member += [UInt8(truncatingIfNeeded: value), UInt8(value >> 8)] }
      member += bytes[position..<position + size]
      position += size
    } while position < bytes.count
    let checksum = ~bytes.reduce(~UInt32(0)) { sum, byte in table[Int((sum ^ UInt32(byte)) & 0xff)] ^ (sum >> 8) }
    for value in [checksum, UInt32(truncatingIfNeeded: bytes.count)] {
      member += [0, 8, 16, 24].map { UInt8(truncatingIfNeeded: value >> $0) }
    }
    return member
  }
}
