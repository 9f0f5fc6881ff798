import PosternJSON

/// What a single value looks like: how it is read from text, how it is written, and its JSON Schema. Declared once per
/// kind of value.
struct ValueForm<Value: Sendable>: Sendable {
  /// The value as JSON Schema (draft 2020-12) members.
  var schema: JSONObject
  /// The bounds in words, for documents; nil when there are none.
  var bounds: String?
  /// Stands in while reading goes on after a problem, and where the schema is only being described.
  var placeholder: Value
  /// The value written as JSON or YAML would write it.
  var json: @Sendable (Value) -> JSONValue
  /// Reads a scalar.
  var parse: @Sendable (SourceScalar, ReadingContext) throws(ValueProblem) -> Value

  /// `documentation` of a key with the bounds of its values.
  func documented(_ documentation: String) -> String {
    bounds.map { "\(documentation) Range: \($0)." } ?? documentation
  }
}
