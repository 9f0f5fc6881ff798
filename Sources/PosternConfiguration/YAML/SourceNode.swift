/// The configuration as it was written, before it means anything: every value with its position.
package struct SourceNode: Sendable, Hashable {
  /// The kinds of value.
  package enum Content: Sendable, Hashable {
    /// One value.
    case scalar(SourceScalar)
    /// Keys and values in order, each key once.
    case mapping([SourceEntry])
    /// Values in order.
    case sequence([SourceNode])
  }

  /// The value.
  package var content: Content
  /// Its position.
  package var origin: SourceOrigin

  package init(content: Content, origin: SourceOrigin) {
    self.content = content
    self.origin = origin
  }

  /// Its kind, in words for messages.
  package var kind: String {
    switch content {
    case .scalar(let scalar): scalar.isNull ? "nothing" : "a single value"
    case .mapping: "a section of keys"
    case .sequence: "a list"
    }
  }

  /// The value of `key` of a mapping; nil when there is none or this is no mapping.
  package subscript(key: String) -> SourceNode? {
    guard case .mapping(let entries) = content else { return nil }
    return entries.first { $0.key == key }?.value
  }
}

/// One key with its value.
package struct SourceEntry: Sendable, Hashable {
  /// The key's text.
  package var key: String
  /// The position of the key.
  package var keyOrigin: SourceOrigin
  /// Its value.
  package var value: SourceNode

  package init(key: String, keyOrigin: SourceOrigin, value: SourceNode) {
    self.key = key
    self.keyOrigin = keyOrigin
    self.value = value
  }
}

/// A scalar as it was written. Its type is decided by its key, never guessed from its text, so that a
/// realm called `no` stays a realm.
package struct SourceScalar: Sendable, Hashable {
  /// How it was written.
  package enum Style: Sendable, Hashable {
    /// Without quotes in the file.
    case plain
    /// In quotes, as a block, or tagged `!!str`.
    case quoted
    /// In an environment variable, which knows no quotes.
    case environment
  }

  /// The text, escapes resolved.
  package var text: String
  /// How it was written.
  package var style: Style

  package init(text: String, style: Style) {
    self.text = text
    self.style = style
  }

  /// Whether it stands for no value at all: nothing, `~` or `null` without quotes (YAML 1.2 section 10.3.2).
  var isNull: Bool {
    style == .plain && ["", "~", "null", "Null", "NULL"].contains(text)
  }
}

/// Where a value of the configuration came from, for messages.
package enum SourceOrigin: Sendable, Hashable {
  /// A position in the configuration file; both count from 1, columns in Unicode scalars.
  case file(line: Int, column: Int)
  /// An environment variable that overrides the file.
  case environment(String)
  /// Nowhere in particular: a key that is not there.
  case unknown
}
