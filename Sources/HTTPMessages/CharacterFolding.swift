/// The characters that Unicode's normalisation (NFKC), a narrower character set or a file system turns into delimiters
/// of paths: full-width forms, dot leaders, division signs, spaces of all kinds, and characters that are dropped.
enum CharacterFolding {
  /// The text in UTF-8 with such characters as the ASCII ones that readers make of them; nil when it has none.
  static func folded(_ bytes: [UInt8]) -> [UInt8]? {
    guard bytes.contains(where: { $0 >= 0x80 }) else { return nil }
    var result: [UInt8] = []
    result.reserveCapacity(bytes.count)
    var isChanged = false
    for scalar in String(decoding: bytes, as: UTF8.self).unicodeScalars {
      if !scalar.isASCII, let ascii = ascii(of: scalar) {
        isChanged = true
        result += ascii.utf8
      } else {
        result += UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter
      }
    }
    return isChanged ? result : nil
  }

  private static func ascii(of scalar: Unicode.Scalar) -> String? {
    switch scalar.value {
    // Full-width forms of ASCII.
    case 0xFF01...0xFF5E: return Unicode.Scalar(scalar.value - 0xFEE0).map { String($0) }
    case 0x2024, 0x3002, 0xFE52, 0xFF61: return "."
    case 0x2025, 0xFE30: return ".."
    case 0x2026, 0xFE19: return "..."
    case 0x2044, 0x2215, 0x29F8: return "/"
    // The signs of yen and won have the place of the backslash in Shift_JIS and KS X 1003.
    case 0xA5, 0x20A9, 0x2216, 0x29F5, 0x29F9, 0xFE68: return "\\"
    case 0x037E, 0xFE14, 0xFE54: return ";"
    case 0xFE13, 0xFE55: return ":"
    case 0x2047, 0x2048, 0xFE16, 0xFE56: return "?"
    case 0xFE5F: return "#"
    case 0xFE6A: return "%"
    // A byte that is not UTF-8 may be a space in another character set.
    case 0xFFFD: return " "
    default: break
    }
    if scalar.properties.isDefaultIgnorableCodePoint { return "" }
    switch scalar.properties.generalCategory {
    case .control, .spaceSeparator, .lineSeparator, .paragraphSeparator: return " "
    default: return nil
    }
  }
}
