/// The members of one object. `null` counts as absent.
struct KeyedDecoding<Key: CodingKey>: KeyedDecodingContainerProtocol {
  let node: DecodingNode
  let object: JSONObject

  var codingPath: [any CodingKey] { node.codingPath }
  var allKeys: [Key] { object.names.compactMap(Key.init(stringValue:)) }

  func contains(_ key: Key) -> Bool { object.position(of: key.stringValue) != nil }

  private func path(of key: Key) -> JSONPath { .member(key.stringValue, of: node.path) }

  private func value(for key: Key) throws -> JSONValue {
    guard let position = object.position(of: key.stringValue) else {
      throw JSONDecodingError(path: path(of: key).pointer, problem: .missing)
    }
    node.visited?[position] = true
    return object.members[position].value
  }

  func decodeNil(forKey key: Key) throws -> Bool {
    guard object.position(of: key.stringValue) != nil else { return true }
    return try value(for: key) == .null
  }

  func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool {
    try ScalarDecoding.bool(value(for: key), at: path(of: key))
  }

  func decode(_ type: String.Type, forKey key: Key) throws -> String {
    try ScalarDecoding.string(value(for: key), at: path(of: key))
  }

  func decode(_ type: Double.Type, forKey key: Key) throws -> Double {
    try ScalarDecoding.real(value(for: key), at: path(of: key))
  }

  func decode(_ type: Float.Type, forKey key: Key) throws -> Float {
    Float(try ScalarDecoding.real(value(for: key), at: path(of: key)))
  }

  func decode(_ type: Int.Type, forKey key: Key) throws -> Int {
    try ScalarDecoding.integer(value(for: key), as: type, at: path(of: key))
  }

  func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 {
    try ScalarDecoding.integer(value(for: key), as: type, at: path(of: key))
  }

  func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 {
    try ScalarDecoding.integer(value(for: key), as: type, at: path(of: key))
  }

  func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 {
    try ScalarDecoding.integer(value(for: key), as: type, at: path(of: key))
  }

  func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 {
    try ScalarDecoding.integer(value(for: key), as: type, at: path(of: key))
  }

  func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt {
    try ScalarDecoding.integer(value(for: key), as: type, at: path(of: key))
  }

  func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 {
    try ScalarDecoding.integer(value(for: key), as: type, at: path(of: key))
  }

  func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 {
    try ScalarDecoding.integer(value(for: key), as: type, at: path(of: key))
  }

  func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 {
    try ScalarDecoding.integer(value(for: key), as: type, at: path(of: key))
  }

  func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 {
    try ScalarDecoding.integer(value(for: key), as: type, at: path(of: key))
  }

  func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
    try DecodingNode.decode(type, value(for: key), at: path(of: key), options: node.options)
  }

  // Most members of most objects are optional. The protocol's own versions of these look each one up three times.

  /// The member's value; nil when it is absent or null.
  private func present(_ key: Key) -> JSONValue? {
    guard let position = object.position(of: key.stringValue) else { return nil }
    node.visited?[position] = true
    if case .null = object.members[position].value { return nil }
    return object.members[position].value
  }

  func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? {
    try present(key).map { try ScalarDecoding.bool($0, at: path(of: key)) }
  }

  func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? {
    try present(key).map { try ScalarDecoding.string($0, at: path(of: key)) }
  }

  func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? {
    try present(key).map { try ScalarDecoding.integer($0, as: type, at: path(of: key)) }
  }

  func decodeIfPresent<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value? {
    try present(key).map { try DecodingNode.decode(type, $0, at: path(of: key), options: node.options) }
  }

  func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type, forKey key: Key
  ) throws -> KeyedDecodingContainer<Nested> {
    try child(key).container(keyedBy: type)
  }

  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    try child(key).unkeyedContainer()
  }

  func superDecoder() throws -> any Decoder { node }

  func superDecoder(forKey key: Key) throws -> any Decoder { try child(key) }

  private func child(_ key: Key) throws -> DecodingNode {
    DecodingNode(try value(for: key), at: path(of: key), options: node.options)
  }
}
