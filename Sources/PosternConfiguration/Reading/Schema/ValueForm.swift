package import PosternJSON

/// The form of a single value: how it is read from text, how it is written, and its JSON Schema. Declared once per kind
/// of value.
package struct ValueForm<Value: Sendable>: Sendable {
  /// The value as JSON Schema (draft 2020-12) members. Made when it is described: readings do without.
  package var schema: @Sendable () -> JSONObject
  /// The bounds in words, for documents; nil when there are none.
  package var bounds: @Sendable () -> String?
  /// The value while reading continues after an error, and while the schema is described.
  var placeholder: Value
  /// The value written as JSON or YAML would write it.
  package var json: @Sendable (Value) -> JSONValue
  /// Reads a scalar.
  package var parse: @Sendable (SourceScalar, ReadingContext) throws(ValueProblem) -> Value

  /// A form of values.
  package init(
    schema: @escaping @Sendable () -> JSONObject, bounds: @escaping @Sendable () -> String? = { nil },
    placeholder: Value,
    json: @escaping @Sendable (Value) -> JSONValue,
    parse: @escaping @Sendable (SourceScalar, ReadingContext) throws(ValueProblem) -> Value
  ) {
    self.schema = schema
    self.bounds = bounds
    self.placeholder = placeholder
    self.json = json
    self.parse = parse
  }

  /// `documentation` of a key with the bounds of its values.
  package func documented(_ documentation: String) -> String {
    bounds().map { "\(documentation) Range: \($0)." } ?? documentation
  }
}

/// Why a scalar is not the value its key wants.
package struct ValueProblem: Error {
  /// In words, without quoting the value where it could be a secret.
  package var message: String

  /// A problem in words.
  package init(_ message: String) { self.message = message }
}
