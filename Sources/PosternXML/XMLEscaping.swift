/// Text on its way into a document.
public enum XMLEscaping {
  /// `text` for character data and for attribute values in either quotes; nil when it holds a character that XML 1.0
  /// (section 2.2) has no way to write. White space that a parser would change is written as a reference.
  public static func escape(_ text: String) -> String? {
    var result = ""
    result.reserveCapacity(text.utf8.count)
    for scalar in text.unicodeScalars {
      switch scalar {
      case "&": result += "&amp;"
      case "<": result += "&lt;"
      case ">": result += "&gt;"
      case "\"": result += "&quot;"
      case "'": result += "&apos;"
      case "\t", "\n", "\r": result += "&#\(scalar.value);"
      case "\u{0}"..<" ", "\u{FFFE}", "\u{FFFF}": return nil
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result
  }
}
