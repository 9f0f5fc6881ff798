/// One event of the YAML parser with its position. Texts are copies; nothing of libyaml's is left in it.
struct YAMLEvent {
  /// The anchor and the tag of a value.
  struct Properties {
    /// The name behind `&`, or nil.
    var anchor: String?
    /// The resolved tag, or nil.
    var tag: String?
  }

  /// The kinds of event.
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
    /// Any other event, which is ignored.
    case other
  }

  var kind: Kind
  var position: TextPosition
}

/// A position in a text file; line and column count from 1, columns in Unicode scalars.
struct TextPosition: Sendable, Hashable {
  /// The line.
  var line: Int
  /// The column.
  var column: Int
}

/// Why a text is not a usable YAML document. The message never quotes the text: it may hold secrets.
package struct YAMLProblem: Error, Sendable, Hashable {
  /// The line, from 1.
  package var line: Int
  /// The column, from 1.
  package var column: Int
  /// The keys that lead there, where known.
  package var path = ConfigurationPath()
  /// The message.
  package var message: String
}
