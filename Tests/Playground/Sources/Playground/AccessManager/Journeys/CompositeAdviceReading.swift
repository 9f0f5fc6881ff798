/// Reads `authIndexValue` as the vendor's server does: to the byte, without white space between the tags.
enum CompositeAdviceReading {
  /// Types and values in order; nil when the text is anything else.
  static func pairs(_ text: String) -> [(type: String, value: String)]? {
    var rest = text[...]
    guard drop("<Advices>", from: &rest) else { return nil }
    var pairs: [(type: String, value: String)] = []
    while drop("<AttributeValuePair><Attribute name=\"", from: &rest) {
      guard let type = upTo("\"/><Value>", in: &rest), let value = upTo("</Value></AttributeValuePair>", in: &rest)
      else { return nil }
      pairs.append((type: unescaped(type), value: unescaped(value)))
    }
    return rest == "</Advices>" && !pairs.isEmpty ? pairs : nil
  }

  private static func drop(_ prefix: String, from text: inout Substring) -> Bool {
    guard text.hasPrefix(prefix) else { return false }
    text = text.dropFirst(prefix.count)
    return true
  }

  private static func upTo(_ end: String, in text: inout Substring) -> Substring? {
    guard let range = text.firstRange(of: end) else { return nil }
    defer { text = text[range.upperBound...] }
    return text[..<range.lowerBound]
  }

  private static func unescaped(_ text: Substring) -> String {
    var text = String(text)
    for (reference, character) in [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&amp;", "&")] {
      text = text.replacing(reference, with: character)
    }
    return text
  }
}
