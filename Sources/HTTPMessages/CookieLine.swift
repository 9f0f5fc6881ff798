import PosternSupport

/// One `Set-Cookie` field taken apart (RFC 6265 section 5.2), nothing judged yet but its grammar.
package struct CookieLine {
  /// A longer name and value together are ignored (RFC 6265bis section 5.6).
  static let maxPairBytes = 4096
  /// A longer attribute is ignored, the cookie is not.
  static let maxAttributeBytes = 1024

  package let name: String
  package let value: String
  /// The last of each, by lower-case name.
  package private(set) var attributes: [String: String] = [:]

  /// Nil for what holds no cookie: no name, too long, or characters that no server should send (RFC 6265 section
  /// 4.1.1): control characters, and bytes beyond ASCII, which would not come back as they came, unless `keepsOctets`.
  package init?(_ field: String, keepsOctets: Bool = false) {
    guard
      field.utf8.allSatisfy({ (0x20..<0x7F).contains($0) || $0 == 0x09 || keepsOctets && $0 > 0x7F })
    else { return nil }
    let parts = field.split(atByte: ";", omittingEmptySubsequences: false)
    let pair = parts.first?.split(atByte: "=", maxSplits: 1, omittingEmptySubsequences: false) ?? []
    guard pair.count == 2 else { return nil }
    name = HTTPFieldRules.trimmed(String(pair[0]))
    value = HTTPFieldRules.trimmed(String(pair[1]))
    guard !name.isEmpty, name.utf8.count + value.utf8.count <= Self.maxPairBytes,
      !name.utf8.contains(0x09), !value.utf8.contains(0x09)
    else { return nil }
    for part in parts.dropFirst().prefix(32) {
      let halves = part.split(atByte: "=", maxSplits: 1, omittingEmptySubsequences: false)
      let value = halves.count == 2 ? HTTPFieldRules.trimmed(String(halves[1])) : ""
      guard value.utf8.count <= Self.maxAttributeBytes else { continue }
      attributes[HTTPFieldRules.trimmed(String(halves[0])).lowercasedASCII()] = value
    }
  }
}
