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

  /// The names in `wanted` that `granted` does not have.
  package static func missing(in granted: String, of wanted: String) -> [String] {
    let granted = set(of: granted)
    return wanted.split(atByte: " ").map { String($0) }.filter { !granted.contains($0) }
  }

  /// The names of all `texts`, each once, in the order in which they come.
  package static func union(_ texts: some Sequence<String>) -> String {
    var known: Set<[UInt8]> = []
    let names = texts.flatMap { $0.split(atByte: " ") }.filter { known.insert(Array($0.utf8)).inserted }
    return names.joined(separator: " ")
  }

  private static func set(of text: String) -> IdenticalStrings { IdenticalStrings(text.split(atByte: " ")) }
}
