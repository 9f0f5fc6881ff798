/// One element of a document with its content, without comments and processing instructions.
struct XMLElement: Sendable, Hashable {
  /// An attribute: `name="value"`.
  struct Attribute: Sendable, Hashable {
    /// The name as written, prefix included.
    let name: String
    /// The value, references resolved.
    let value: String
  }

  /// The name as written, prefix included.
  let name: String
  /// The attributes in order; no name twice.
  let attributes: [Attribute]
  /// The elements directly inside, in order.
  var children: [XMLElement] = []
  /// The character data directly inside, concatenated.
  var text = ""

  /// The value of the attribute `name`.
  subscript(name: String) -> String? { attributes.first { $0.name == name }?.value }

  /// The elements `name` directly inside.
  func children(_ name: String) -> [XMLElement] { children.filter { $0.name == name } }
}

/// Escaping of text for a document.
enum XMLEscaping {
  /// `text` escaped for character data and for attribute values in either quotes; nil when it has a character that XML
  /// 1.0 cannot express (section 2.2). White space that a parser would change is written as a reference.
  static func escape(_ text: String) -> String? {
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
