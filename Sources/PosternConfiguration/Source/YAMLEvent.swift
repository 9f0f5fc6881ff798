/// One event of the YAML parser with its place. Texts are copies; nothing of libyaml's is left in it.
struct YAMLEvent {
  /// What anchors and tags a value may carry.
  struct Properties {
    /// The name behind `&`, or nil.
    var anchor: String?
    /// The resolved tag, or nil.
    var tag: String?
  }

  /// What happened.
  enum Kind {
    case documentStart
    case documentEnd
    case streamEnd
    case alias(String)
    case scalar(text: String, isPlain: Bool, Properties)
    case sequenceStart(Properties)
    case sequenceEnd
    case mappingStart(Properties)
    case mappingEnd
    /// Of no interest.
    case other
  }

  var kind: Kind
  var place: TextPlace
}
