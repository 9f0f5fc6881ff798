extension FormEncoding {
  /// The fields of a form or query in order; nil when an escape is malformed or the text is not UTF-8.
  public static func decode(_ text: String) -> [(name: String, value: String)]? {
    var fields: [(name: String, value: String)] = []
    for part in text.utf8.split(separator: UInt8(ascii: "&")) {
      let halves = part.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
      let text = halves.count > 1 ? halves[1] : part[part.endIndex...]
      guard let name = component(halves[0]), let value = component(text) else { return nil }
      fields.append((name: name, value: value))
    }
    return fields
  }

  private static func component(_ bytes: Substring.UTF8View.SubSequence) -> String? {
    var result: [UInt8] = []
    var rest = bytes[...]
    while let byte = rest.popFirst() {
      switch byte {
      case UInt8(ascii: "+"): result.append(UInt8(ascii: " "))
      case UInt8(ascii: "%"):
        guard let high = rest.popFirst().flatMap(ASCII.hexValue), let low = rest.popFirst().flatMap(ASCII.hexValue)
        else { return nil }
        result.append(high << 4 | low)
      default: result.append(byte)
      }
    }
    return String(validating: result, as: UTF8.self)
  }
}
