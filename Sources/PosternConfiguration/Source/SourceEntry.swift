/// One key with its value.
struct SourceEntry: Sendable, Hashable {
  /// The key's text.
  var key: String
  /// Where the key stands.
  var keyOrigin: SourceOrigin
  /// What it is set to.
  var value: SourceNode
}
