extension JSONValue {
  /// The value as a boolean, or nil.
  public var boolValue: Bool? { if case .bool(let value) = self { value } else { nil } }

  /// The value as an integer, or nil; a real is never one, not even `1.0`.
  public var integerValue: Int64? { if case .integer(let value) = self { value } else { nil } }

  /// The value as a number, integer or real, or nil.
  public var numberValue: Double? {
    switch self {
    case .integer(let value): Double(value)
    case .real(let value): value
    default: nil
    }
  }

  /// The value as a string, or nil.
  public var stringValue: String? { if case .string(let value) = self { value } else { nil } }

  /// The elements of an array, or nil.
  public var arrayValue: [JSONValue]? { if case .array(let value) = self { value } else { nil } }

  /// The object, or nil.
  public var objectValue: JSONObject? { if case .object(let value) = self { value } else { nil } }

  /// The member `name` of an object; nil when absent or when this is no object.
  public subscript(name: String) -> JSONValue? { objectValue?[name] }

  /// What kind of value this is, in the words of JSON Schema.
  public var kind: String {
    switch self {
    case .null: "null"
    case .bool: "boolean"
    case .integer: "integer"
    case .real: "number"
    case .string: "string"
    case .array: "array"
    case .object: "object"
    }
  }

  /// Whether any string in it, at any depth and member names included, holds U+0000.
  public var containsNUL: Bool {
    switch self {
    case .string(let value): value.containsNUL
    case .array(let elements): elements.contains { $0.containsNUL }
    case .object(let object): object.members.contains { $0.name.containsNUL || $0.value.containsNUL }
    default: false
    }
  }
}
