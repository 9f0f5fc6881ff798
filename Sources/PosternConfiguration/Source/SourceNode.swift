/// The configuration as it was written, before it means anything: every value still knows its place.
struct SourceNode: Sendable, Hashable {
  /// What stands there.
  enum Content: Sendable, Hashable {
    /// One value.
    case scalar(SourceScalar)
    /// Keys and values in order, each key once.
    case mapping([SourceEntry])
    /// Values in order.
    case sequence([SourceNode])
  }

  /// What stands there.
  var content: Content
  /// Where.
  var origin: SourceOrigin

  /// What it is, in words for messages.
  var kind: String {
    switch content {
    case .scalar(let scalar): scalar.isNull ? "nothing" : "a single value"
    case .mapping: "a section of keys"
    case .sequence: "a list"
    }
  }

  /// The value of `key` of a mapping; nil when there is none or this is no mapping.
  subscript(key: String) -> SourceNode? {
    guard case .mapping(let entries) = content else { return nil }
    return entries.first { $0.key == key }?.value
  }
}
