import PosternSupport

/// How a token endpoint's answers deviate from RFC 6749 section 5.1.
package struct TokenAnswerRules: Sendable, Hashable {
  /// Whether a token of any type, or of none, is a bearer token. Those of type DPoP stay what they are.
  package var acceptsAnyType: Bool
  /// Whether scopes are separated by commas.
  package var separatesByComma: Bool

  package init(acceptsAnyType: Bool = false, separatesByComma: Bool = false) {
    self.acceptsAnyType = acceptsAnyType
    self.separatesByComma = separatesByComma
  }

  /// The type of a token by its name in an answer; nil for one that is not to be used.
  func type(named name: String?) -> TokenType? {
    name.flatMap { TokenType(named: $0) } ?? (acceptsAnyType ? .bearer : nil)
  }

  /// The scopes of an answer, separated by spaces.
  func scope(_ text: String?) -> String? {
    guard separatesByComma else { return text }
    return text.map { text in
      text.split(atByte: ",").flatMap { $0.split(atByte: " ") }.filter { !$0.isEmpty }.joined(separator: " ")
    }
  }

  /// The end of a sentence about a type that must not be used.
  static func fault(type name: String?) -> String {
    // What is longer than a name may be a token that is in the wrong place.
    let isName = name.map {
      (1...20).contains($0.utf8.count) && $0.utf8.allSatisfy { (0x61...0x7A).contains($0 | 0x20) }
    }
    let found =
      switch (name, isName) {
      case (nil, _): "no token_type"
      case (let name?, true?): "the token_type \(name)"
      default: "a token_type"
      }
    return "has \(found), neither Bearer nor DPoP; with tokenType: any at the issuer it is used as a bearer token"
  }
}
