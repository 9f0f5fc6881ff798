import PosternSupport

/// Looks for what a server behind us could read as another path than we do.
///
/// Encoded slashes stay allowed: they are data (`projects/group%2Fname`) and we never decode them. But whatever some
/// reader makes a dot segment of, is rejected: one that decodes, once or repeatedly; with `/` and `\` as separators;
/// that ends a segment at a path parameter (`..;x`), a query, a fragment or the stream of a file (`..%3F`, `..%23`,
/// `..:x`); that takes spaces off, as Windows does (`..%20`); or that normalises characters, as full-width dots. So are
/// encoded control characters and encoded backslashes, which have no use but this one, and delimiters in overlong UTF-8
/// (RFC 3629 section 3), which lenient decoders take for the real ones.
package enum PathInspection {
  private static let maxRounds = 4

  /// The fault of the normalised path, as a predicate of "the path"; nil when it has none.
  package static func fault(in path: String) -> String? {
    guard ASCII.withBytes(of: path, { $0.contains(where: mayMislead) }) else { return nil }
    var bytes = Array(path.utf8)
    for _ in 0..<maxRounds {
      if bytes.contains(where: { $0 < 0x20 || $0 == 0x7F }) { return "holds an encoded control character" }
      if bytes.contains(UInt8(ascii: "\\")) { return "holds an encoded backslash" }
      if hasOverlongDelimiter(bytes) { return "holds a delimiter in overlong UTF-8" }
      if hasDotSegment(bytes) { return "holds an encoded dot segment" }
      guard let decoded = decode(bytes) else { return faultOfNormalised(bytes) }
      bytes = decoded
    }
    return "is percent-encoded too many times"
  }

  /// Whether a segment of a path, as it is written, is `.` or `..`, its dots encoded or not.
  package static func hasDotSegment(asWritten path: String) -> Bool {
    path.utf8.split(separator: UInt8(ascii: "/")).contains { segment in
      var (rest, dots) = (segment, 0)
      while let byte = rest.popFirst() {
        if byte == UInt8(ascii: "%") {
          guard rest.popFirst() == UInt8(ascii: "2"), rest.popFirst().map({ $0 | 0x20 }) == UInt8(ascii: "e") else {
            return false
          }
        } else if byte != UInt8(ascii: ".") {
          return false
        }
        dots += 1
      }
      return (1...2).contains(dots)
    }
  }

  /// Whether a path with this byte is worth a look.
  private static func mayMislead(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "%"), UInt8(ascii: ";"), UInt8(ascii: ":"), 0x80...: true
    default: false
    }
  }

  /// The fault of a decoded path for readers that normalise its characters: dot segments only, since the other
  /// characters are letters elsewhere.
  private static func faultOfNormalised(_ decoded: [UInt8]) -> String? {
    guard var bytes = CharacterFolding.folded(decoded) else { return nil }
    for _ in 0..<maxRounds {
      if hasDotSegment(bytes) { return "holds an encoded dot segment" }
      guard let decoded = decode(bytes) else { return nil }
      bytes = decoded
    }
    return "is percent-encoded too many times"
  }

  private static func hasDotSegment(_ bytes: [UInt8]) -> Bool {
    bytes.split { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "\\") }.contains(where: isDotSegment)
  }

  /// Whether what is before the first delimiter is one dot or two, or dots and spaces. Three dots are a name.
  private static func isDotSegment(_ segment: ArraySlice<UInt8>) -> Bool {
    var (dots, spaces) = (0, 0)
    for byte in segment {
      switch byte {
      case UInt8(ascii: "."): dots += 1
      case UInt8(ascii: " "): spaces += 1
      case UInt8(ascii: ";"), UInt8(ascii: "?"), UInt8(ascii: "#"), UInt8(ascii: ":"):
        return isDotSegment(dots, spaces)
      default: return false
      }
    }
    return isDotSegment(dots, spaces)
  }

  private static func isDotSegment(_ dots: Int, _ spaces: Int) -> Bool {
    dots > 0 && (dots <= 2 || spaces > 0)
  }

  /// Whether two bytes or more stand for a control character, or for one of `%`, `.`, `/`, `;`, `?`, `#`, `\`. Other
  /// overlong forms pass: in other encodings than UTF-8 the same bytes are letters.
  private static func hasOverlongDelimiter(_ bytes: [UInt8]) -> Bool {
    bytes.indices.contains { start in
      guard let value = overlongASCII(bytes[start...]) else { return false }
      return value < 0x20 || value == 0x7F || #"%./;\?#"#.utf8.contains(value)
    }
  }

  /// The ASCII character that the first bytes encode as an overlong sequence, of up to the six bytes of RFC 2279;
  /// nil where they do not.
  private static func overlongASCII(_ bytes: ArraySlice<UInt8>) -> UInt8? {
    guard let lead = bytes.first, lead >= 0xC0, lead < 0xFE else { return nil }
    let length = (~lead).leadingZeroBitCount
    let rest = bytes.dropFirst().prefix(length - 1)
    guard rest.count == length - 1, rest.allSatisfy({ $0 & 0xC0 == 0x80 }) else { return nil }
    let value = rest.reduce(UInt32(lead) & (0x7F >> UInt32(length))) { $0 << 6 | UInt32($1 & 0x3F) }
    return UInt8(exactly: value).flatMap { $0 < 0x80 ? $0 : nil }
  }

  /// One round of percent-decoding; nil when there is nothing left to decode.
  private static func decode(_ bytes: [UInt8]) -> [UInt8]? {
    var result: [UInt8] = []
    result.reserveCapacity(bytes.count)
    var index = 0
    var changed = false
    while index < bytes.count {
      if bytes[index] == UInt8(ascii: "%"), index + 2 < bytes.count, let high = Hexadecimal.value(bytes[index + 1]),
        let low = Hexadecimal.value(bytes[index + 2])
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
}
