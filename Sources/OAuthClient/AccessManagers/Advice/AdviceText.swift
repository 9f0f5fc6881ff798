import HTTPMessages
import PosternSupport

/// Decodes the forms in which servers wrap advice.
enum AdviceText {
  /// The maximum number of decodings: one is usual, and some servers encode what is encoded already.
  private static let maxRounds = 3

  /// Returns the advices in the value of `authIndexValue` of a URL: percent-encoded once or more, in quotes or not, XML
  /// or its base64 in either alphabet.
  static func composite(_ encoded: String, realm: String?) -> [PolicyAdvice] {
    var text = encoded
    for _ in 0..<maxRounds {
      guard text.utf8.count <= CompositeAdvice.maxBytes, let decoded = decoded(text) else { return [] }
      let content = trimmed(unquoted(trimmed(decoded)))
      if content.utf8.first == UInt8(ascii: "<") {
        return CompositeAdvice.advices(xml: Array(content.utf8), realm: realm)
      }
      // The spaces may be the `+` of base64, in which a document even ends with one where its length is right.
      for candidate in [content, unquoted(decoded)] {
        guard let bytes = base64(replacingSpaces(candidate)), isXML(bytes) else { continue }
        let advices = CompositeAdvice.advices(xml: bytes, realm: realm)
        if !advices.isEmpty { return advices }
      }
      guard content.utf8.contains(UInt8(ascii: "%")) else { return [] }
      text = content
    }
    return []
  }

  /// Decodes base64 in the standard or the URL alphabet, padded or not, white space anywhere.
  static func base64(_ text: String) -> [UInt8]? {
    var symbols: [UInt8] = []
    symbols.reserveCapacity(text.utf8.count)
    for byte in text.utf8 where !ASCII.isJSONSpace(byte) {
      switch byte {
      case UInt8(ascii: "+"): symbols.append(UInt8(ascii: "-"))
      case UInt8(ascii: "/"): symbols.append(UInt8(ascii: "_"))
      default: symbols.append(byte)
      }
    }
    while symbols.last == UInt8(ascii: "=") { symbols.removeLast() }
    return symbols.isEmpty ? nil : Base64URL.decode(symbols)
  }

  /// Removes white space around `text`.
  static func trimmed(_ text: String) -> String {
    let bytes = Array(text.utf8)
    guard let first = bytes.firstIndex(where: { !ASCII.isJSONSpace($0) }),
      let last = bytes.lastIndex(where: { !ASCII.isJSONSpace($0) })
    else { return "" }
    return String(decoding: bytes[first...last], as: UTF8.self)
  }

  /// Removes one pair of quotes around `text`.
  private static func unquoted(_ text: String) -> String {
    let bytes = text.utf8
    guard bytes.count >= 2, let first = bytes.first, first == bytes.last,
      first == UInt8(ascii: "\"") || first == UInt8(ascii: "'")
    else { return text }
    return String(decoding: Array(bytes.dropFirst().dropLast()), as: UTF8.self)
  }

  /// Decodes one name or value of a query.
  static func decoded(_ text: String) -> String? {
    guard !text.utf8.contains(UInt8(ascii: "&")), let field = FormEncoding.decode("=\(text)")?.first else { return nil }
    return field.value
  }

  private static func replacingSpaces(_ text: String) -> String {
    String(decoding: text.utf8.map { $0 == UInt8(ascii: " ") ? UInt8(ascii: "+") : $0 }, as: UTF8.self)
  }

  private static func isXML(_ bytes: [UInt8]) -> Bool { bytes.first { !ASCII.isJSONSpace($0) } == UInt8(ascii: "<") }
}
