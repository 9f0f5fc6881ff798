/// The lists of an `If` field (RFC 4918 section 10.4.2), and the resources that they are about.
enum IfConditions {
  /// A part of the value; together they are all of it.
  enum Part: Hashable {
    /// A URI reference between angle brackets, before the lists about it.
    case tag(String)
    /// Lists, and what is between them. State tokens name locks, not resources.
    case list(String)
  }

  /// The parts in order; nil where it is not certain what they are.
  static func parts(of value: String) -> [Part]? {
    var parts: [Part] = []
    var text: [UInt8] = []
    var rest = Array(value.utf8)[...]
    while let byte = rest.first {
      switch byte {
      case UInt8(ascii: "<"):
        guard let end = rest.firstIndex(of: UInt8(ascii: ">")) else { return nil }
        text.append(byte)
        parts.append(.list(String(decoding: text.dropLast(), as: UTF8.self)))
        parts.append(.tag(String(decoding: rest[(rest.startIndex + 1)..<end], as: UTF8.self)))
        text = []
        rest = rest[(end + 1)...]
      case UInt8(ascii: "("):
        guard let end = endOfList(rest) else { return nil }
        text += rest[..<end]
        rest = rest[end...]
      case UInt8(ascii: " "), UInt8(ascii: "\t"):
        text.append(byte)
        rest.removeFirst()
      default: return nil
      }
    }
    return parts + [.list(String(decoding: text, as: UTF8.self))]
  }

  /// The index behind a list, which begins with `(`; nil where it does not end.
  private static func endOfList(_ list: ArraySlice<UInt8>) -> Int? {
    var index = list.startIndex + 1
    while index < list.endIndex {
      switch list[index] {
      case UInt8(ascii: ")"): return index + 1
      case UInt8(ascii: "<"):
        guard let end = list[index...].firstIndex(of: UInt8(ascii: ">")) else { return nil }
        index = end + 1
      case UInt8(ascii: "["):
        // An entity tag is between quotation marks, without an escape (RFC 9110 section 8.8.3).
        guard let start = list[index...].firstIndex(of: UInt8(ascii: "\"")),
          let end = list[(start + 1)...].firstIndex(of: UInt8(ascii: "\"")),
          let close = list[(end + 1)...].firstIndex(of: UInt8(ascii: "]"))
        else { return nil }
        index = close + 1
      case UInt8(ascii: "("): return nil
      default: index += 1
      }
    }
    return nil
  }
}
