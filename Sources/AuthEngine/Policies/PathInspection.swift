/// Looks for what a server behind us could read as another path than we do.
///
/// Encoded slashes stay allowed: they are data (`projects/group%2Fname`) and we never decode them. But whatever
/// decoding, once or repeatedly, with `/` and `\` as separators and with path parameters (`..;x`) taken off, makes a
/// dot segment of, is refused; and so are encoded control characters and encoded backslashes, which have no use but
/// this one.
enum PathInspection {
  private static let maxRounds = 4

  /// What is wrong with the normalised path, to be put behind "the path"; nil when nothing is.
  static func fault(in path: String) -> String? {
    var bytes = Array(path.utf8)
    guard bytes.contains(UInt8(ascii: "%")) || bytes.contains(UInt8(ascii: ";")) else { return nil }
    for _ in 0..<maxRounds {
      if bytes.contains(where: { $0 < 0x20 || $0 == 0x7F }) { return "holds an encoded control character" }
      if bytes.contains(UInt8(ascii: "\\")) { return "holds an encoded backslash" }
      if hasDotSegment(bytes) { return "holds an encoded dot segment" }
      guard let decoded = decode(bytes) else { return nil }
      bytes = decoded
    }
    return "is percent-encoded too many times"
  }

  private static func hasDotSegment(_ bytes: [UInt8]) -> Bool {
    bytes.split(separator: UInt8(ascii: "/")).contains { segment in
      let name = segment.prefix { $0 != UInt8(ascii: ";") }
      return name.elementsEqual(".".utf8) || name.elementsEqual("..".utf8)
    }
  }

  /// One round of percent-decoding; nil when there is nothing left to decode.
  private static func decode(_ bytes: [UInt8]) -> [UInt8]? {
    var result: [UInt8] = []
    result.reserveCapacity(bytes.count)
    var index = 0
    var changed = false
    while index < bytes.count {
      if bytes[index] == UInt8(ascii: "%"), index + 2 < bytes.count, let high = hexValue(bytes[index + 1]),
        let low = hexValue(bytes[index + 2])
      {
        result.append(high << 4 | low)
        index += 3
        changed = true
      } else {
        result.append(bytes[index])
        index += 1
      }
    }
    return changed ? result : nil
  }

  private static func hexValue(_ byte: UInt8) -> UInt8? {
    switch byte {
    case 0x30...0x39: byte - 0x30
    case 0x41...0x46, 0x61...0x66: (byte | 0x20) - 0x61 + 10
    default: nil
    }
  }
}
