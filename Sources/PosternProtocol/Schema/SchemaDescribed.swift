public import PosternJSON

/// A type that knows its own JSON Schema, where `Codable` alone does not tell (enumerations, open values).
public protocol SchemaDescribed: Codable {
  /// The schema (JSON Schema draft 7, as OpenRPC 1.3 uses it).
  static var schema: JSONValue { get }
  /// Any value of the type: the recorder needs one to get past it.
  static var sample: Self { get }
}

/// An enumeration of strings whose cases are the accepted values.
public protocol SchemaEnumeration: SchemaDescribed, CaseIterable, RawRepresentable where RawValue == String {}

extension SchemaEnumeration {
  /// A string, one of the cases.
  public static var schema: JSONValue {
    ["type": "string", "enum": .array(allCases.map { .string($0.rawValue) })]
  }

  /// The first case.
  public static var sample: Self {
    guard let first = allCases.first else { preconditionFailure("an enumeration without cases") }
    return first
  }
}

extension JSONValue: SchemaDescribed {
  /// Anything.
  public static var schema: JSONValue { [:] }
  /// `null`.
  public static var sample: JSONValue { .null }
}

extension Array: SchemaDescribed where Element: Codable {
  /// An array of the element's schema.
  public static var schema: JSONValue { ["type": "array", "items": SchemaRecorder.schema(of: Element.self)] }
  /// An empty array.
  public static var sample: [Element] { [] }
}

extension Dictionary: SchemaDescribed where Key == String, Value: Codable {
  /// An object of any names with values of the value's schema.
  public static var schema: JSONValue {
    ["type": "object", "additionalProperties": SchemaRecorder.schema(of: Value.self)]
  }
  /// An empty object.
  public static var sample: [String: Value] { [:] }
}
