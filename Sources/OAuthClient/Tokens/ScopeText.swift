import PosternSupport

/// A list of scopes in a request or a token: names between spaces, compared byte by byte (RFC 6749 section 3.3).
package enum ScopeText {
  /// Whether `name` is one of those in `text`.
  package static func names(_ name: String, in text: String) -> Bool { set(of: text).contains(name) }

  /// Whether all of `text` is in `granted`.
  package static func covers(_ granted: String, _ text: String) -> Bool {
    let granted = set(of: granted)
    return text.split(atByte: " ").allSatisfy(granted.contains)
  }

  private static func set(of text: String) -> IdenticalStrings { IdenticalStrings(text.split(atByte: " ")) }
}
