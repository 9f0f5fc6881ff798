import PosternJSON
import PosternYAML

/// The form of a single value: how it is read from text, how it is written, and its JSON Schema. Declared once per kind
/// of value.
struct ValueForm<Value: Sendable>: Sendable {
  /// The value as JSON Schema (draft 2020-12) members. Made when it is described: readings do without.
  var schema: @Sendable () -> JSONObject
  /// The bounds in words, for documents; nil when there are none.
  var bounds: @Sendable () -> String? = { nil }
  /// The value while reading continues after an error, and while the schema is described.
  var placeholder: Value
  /// The value written as JSON or YAML would write it.
  var json: @Sendable (Value) -> JSONValue
  /// Reads a scalar.
  var parse: @Sendable (SourceScalar, ReadingContext) throws(ValueProblem) -> Value

  /// `documentation` of a key with the bounds of its values.
  func documented(_ documentation: String) -> String {
    bounds().map { "\(documentation) Range: \($0)." } ?? documentation
  }
}

/// Why a scalar is not the value its key wants.
struct ValueProblem: Error {
  /// In words, without quoting the value where it could be a secret.
  var message: String

  /// A problem in words.
  init(_ message: String) { self.message = message }
}
