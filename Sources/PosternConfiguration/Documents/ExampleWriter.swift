import PosternJSON

/// Writes the annotated example, key by key.
struct ExampleWriter {
  /// The text written so far.
  private(set) var text = ""

  /// Comments end before this column.
  private static let width = 100

  /// Writes the keys of a section.
  mutating func section(_ section: SectionSpecification, indent: Int, isCommented: Bool) {
    for key in section.keys {
      let isCommented = isCommented || key.isCommentedSection
      switch key.form {
      case .value, .list, .texts:
        value(key, indent: indent, isCommented: isCommented)
      case .section(let keys):
        begin(key.documentation, indent: indent)
        line("\(key.name):", indent: indent, isCommented: isCommented)
        self.section(keys, indent: indent + 2, isCommented: isCommented)
      case .sections(let keys):
        begin(key.documentation, indent: indent)
        line("\(key.name):", indent: indent, isCommented: isCommented)
        item(keys, indent: indent + 2, isCommented: isCommented)
      case .map(let keys, let name):
        begin(key.documentation, indent: indent)
        line("\(key.name):", indent: indent, isCommented: isCommented)
        line("\(name):", indent: indent + 2, isCommented: isCommented)
        self.section(keys, indent: indent + 4, isCommented: isCommented)
      }
    }
  }

  /// Writes a comment, wrapped.
  mutating func comment(_ comment: String, indent: Int) {
    var current = ""
    for word in comment.split(separator: " ") {
      if !current.isEmpty, indent + 2 + current.count + 1 + word.count > Self.width {
        line("# \(current)", indent: indent, isCommented: false)
        current = ""
      }
      current += current.isEmpty ? String(word) : " \(word)"
    }
    line("# \(current)", indent: indent, isCommented: false)
  }

  private mutating func begin(_ documentation: String, indent: Int) {
    if indent == 0 { text += "\n" }
    comment(documentation, indent: indent)
  }

  /// Writes a key with one value, without the other ways of giving a secret.
  private mutating func value(_ key: KeySpecification, indent: Int, isCommented: Bool) {
    guard let example = key.example else { return }
    var documentation = key.documentation
    if let secret = key.secretName { documentation += " Or \(secret)Env." }
    let choices = Self.choices(key.form)
    if !choices.isEmpty { documentation += " One of: \(choices.joined(separator: ", "))." }
    if let value = key.defaultValue { documentation += " Default: \(Self.flow(value))." }
    if key.isRequired { documentation += " Required." }
    begin(documentation, indent: indent)
    switch example {
    case .shown(let value): line("\(key.name): \(Self.flow(value))", indent: indent, isCommented: isCommented)
    case .commented(let value): line("\(key.name): \(Self.flow(value))", indent: indent, isCommented: true)
    }
  }

  /// One item of a list of sections: `- ` before its first key.
  private mutating func item(_ keys: SectionSpecification, indent: Int, isCommented: Bool) {
    line("-", indent: indent, isCommented: isCommented)
    section(keys, indent: indent + 2, isCommented: isCommented)
  }

  private mutating func line(_ line: String, indent: Int, isCommented: Bool) {
    // No blank behind this `#`: so keys that wait to be switched on differ from words about them.
    text += String(repeating: " ", count: indent) + (isCommented ? "#" : "") + line + "\n"
  }

  /// The values of a closed set, without those that have another name now.
  private static func choices(_ form: KeySpecification.Form) -> [String] {
    switch form {
    case .value(let schema), .list(let schema):
      ((schema["anyOf"]?.arrayValue?.first ?? .object(schema))["enum"]?.arrayValue ?? []).compactMap(\.stringValue)
    default: []
    }
  }

  /// A value in YAML's flow style; texts in quotes only where they need them.
  static func flow(_ value: JSONValue) -> String {
    switch value {
    case .string(let text): needsQuotes(text) ? JSONWriter().string(value) : text
    case .array(let items): "[\(items.map(flow).joined(separator: ", "))]"
    case .object(let object):
      "{ " + object.members.map { "\($0.name): \(flow($0.value))" }.joined(separator: ", ") + " }"
    default: JSONWriter().string(value)
    }
  }

  /// Whether `text` would be something else without quotes, to us or to another reader of YAML.
  private static func needsQuotes(_ text: String) -> Bool {
    let isPlain = text.unicodeScalars.allSatisfy {
      YAMLText.mayNameAnchor($0) || ":/.+".unicodeScalars.contains($0) || $0 == " "
    }
    let words = ["", "true", "false", "null", "yes", "no", "on", "off", "~"]
    let startsAsNumber = text.first?.isNumber == true && text.allSatisfy { $0.isNumber || ".:_".contains($0) }
    return !isPlain || words.contains(text.lowercased()) || startsAsNumber || text.contains(": ") || text.hasSuffix(":")
      || text.hasPrefix("-") || text.hasPrefix(":")
  }
}
