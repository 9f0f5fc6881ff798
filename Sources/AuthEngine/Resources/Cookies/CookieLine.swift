/// One `Set-Cookie` field taken apart (RFC 6265 section 5.2), nothing judged yet but its grammar.
struct CookieLine {
  /// A longer name and value together are ignored (RFC 6265bis section 5.6).
  static let maxPairBytes = 4096
  /// A longer attribute is ignored, the cookie is not.
  static let maxAttributeBytes = 1024

  let name: String
  let value: String
  /// The last of each, by lower-case name.
  private(set) var attributes: [String: String] = [:]

  /// Nil for what holds no cookie: no name, too long, or characters that no server should send (RFC 6265 section 4.1.1): control
  /// characters, and bytes beyond ASCII, which would not come back as they came.
  init?(_ field: String) {
    guard field.utf8.allSatisfy({ (0x20..<0x7F).contains($0) || $0 == 0x09 }) else { return nil }
    let parts = field.split(separator: ";", omittingEmptySubsequences: false)
    guard let pair = parts.first, let equals = pair.firstIndex(of: "=") else { return nil }
    name = Self.trimmed(pair[..<equals])
    value = Self.trimmed(pair[pair.index(after: equals)...])
    guard !name.isEmpty, name.utf8.count + value.utf8.count <= Self.maxPairBytes,
      !name.utf8.contains(0x09), !value.utf8.contains(0x09)
    else { return nil }
    for part in parts.dropFirst().prefix(32) {
      let equals = part.firstIndex(of: "=") ?? part.endIndex
      let value = Self.trimmed(part[equals...].dropFirst())
      guard value.utf8.count <= Self.maxAttributeBytes else { continue }
      attributes[Self.trimmed(part[..<equals]).lowercased()] = value
    }
  }

  private static func trimmed(_ text: Substring) -> String {
    let start = text.drop { $0 == " " || $0 == "\t" }
    guard let last = start.lastIndex(where: { $0 != " " && $0 != "\t" }) else { return "" }
    return String(start[...last])
  }
}
