/// A scalar as it was written. Its type is decided by the key it stands at, never guessed from its text, so that a
/// realm called `no` stays a realm.
struct SourceScalar: Sendable, Hashable {
  /// How it was written.
  enum Style: Sendable, Hashable {
    /// Without quotes in the file.
    case plain
    /// In quotes, as a block, or tagged `!!str`.
    case quoted
    /// In an environment variable, which knows no quotes.
    case environment
  }

  /// The text, escapes resolved.
  var text: String
  /// How it was written.
  var style: Style

  /// Whether it stands for no value at all: nothing, `~` or `null` without quotes (YAML 1.2 section 10.3.2).
  var isNull: Bool {
    style == .plain && ["", "~", "null", "Null", "NULL"].contains(text)
  }
}
