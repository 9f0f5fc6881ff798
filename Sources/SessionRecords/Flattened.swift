/// A group of a record's members. The encoded form has these members among the record's, and none for the group.
@propertyWrapper package struct Flattened<Value: Codable & Sendable>: Sendable, Codable {
  package var wrappedValue: Value

  package init(wrappedValue: Value) { self.wrappedValue = wrappedValue }

  package init(from decoder: any Decoder) throws { wrappedValue = try Value(from: decoder) }

  package func encode(to encoder: any Encoder) throws { try wrappedValue.encode(to: encoder) }
}

// What the compiler writes for a member with the wrapper takes these. `PosternJSON` has the members of a superclass
// among those of the class.

extension KeyedDecodingContainer {
  package func decode<Value>(_: Flattened<Value>.Type, forKey key: Key) throws -> Flattened<Value> {
    try Flattened(from: try superDecoder())
  }
}

extension KeyedEncodingContainer {
  package mutating func encode<Value>(_ value: Flattened<Value>, forKey key: Key) throws {
    try value.encode(to: superEncoder())
  }
}
