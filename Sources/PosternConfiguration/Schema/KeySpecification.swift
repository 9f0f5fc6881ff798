import PosternJSON

/// One key as the parser, the JSON Schema, the annotated example and the environment overrides know it.
struct KeySpecification: Sendable {
  /// What may stand at a key.
  indirect enum Form: Sendable {
    /// One value, with its JSON Schema members.
    case value(JSONObject)
    /// A list of single values.
    case list(JSONObject)
    /// A section of keys.
    case section(SectionSpecification)
    /// A list of sections.
    case sections(SectionSpecification)
    /// Sections by names the operator chooses; the name serves the example.
    case map(SectionSpecification, exampleName: String)
    /// Texts by names the operator chooses.
    case texts
  }

  /// What the annotated example shows.
  enum Example: Sendable {
    /// The key, set to this value.
    case shown(JSONValue)
    /// The same behind a `#`: for keys that most configurations leave out.
    case commented(JSONValue)
  }

  /// The key.
  var name: String
  /// What it means, in one paragraph.
  var documentation: String
  /// What may stand there.
  var form: Form
  /// Whether it must be given where its section is.
  var isRequired = false
  /// What holds when it is left out; nil when nothing does, or when it depends.
  var defaultValue: JSONValue?
  /// What the annotated example shows; sections show their keys.
  var example: Example?
  /// Whether the annotated example keeps the section behind `#`.
  var isCommentedSection = false
  /// The name that `…`, `…File` and `…Env` of one secret share.
  var secretName: String?
}
