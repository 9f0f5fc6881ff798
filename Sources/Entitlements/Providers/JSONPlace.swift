import PosternJSON
import PosternSupport

/// A place in a document: a JSON Pointer (RFC 6901).
struct JSONPlace: Sendable, Hashable {
  private let names: [String]

  /// Reads a pointer; nil when it is none.
  init?(_ pointer: String) {
    guard pointer.isEmpty || pointer.utf8.first == UInt8(ascii: "/") else { return nil }
    names = pointer.split(atByte: "/", omittingEmptySubsequences: false).dropFirst().map(Self.unescaped)
  }

  /// What stands there in `document`.
  func value(in document: JSONValue) -> JSONValue? {
    names.reduce(document) { (value: JSONValue?, name) in
      switch value {
      case .object(let object)?: object[name]
      case .array(let elements)?: Int(name).flatMap { elements.indices.contains($0) ? elements[$0] : nil }
      default: nil
      }
    }
  }

  /// `~1` is a slash and `~0` a tilde (RFC 6901 section 4).
  private static func unescaped(_ name: Substring) -> String {
    var result = ""
    var isEscape = false
    for character in name.unicodeScalars {
      if isEscape {
        result += character == "1" ? "/" : character == "0" ? "~" : "~\(character)"
        isEscape = false
      } else if character == "~" {
        isEscape = true
      } else {
        result.unicodeScalars.append(character)
      }
    }
    return isEscape ? result + "~" : result
  }
}
