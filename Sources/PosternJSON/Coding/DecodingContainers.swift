/// The decoding container of an object; `null` counts as absent. Scalars without a method of their own go through the
/// generic one.
struct KeyedDecoding<Key: CodingKey>: KeyedDecodingContainerProtocol {
  let node: DecodingNode
  let members: ObjectMembers

  var codingPath: [any CodingKey] { node.codingPath }
  var allKeys: [Key] { members.names.compactMap(Key.init(stringValue:)) }

  func contains(_ key: Key) -> Bool { members.contains(noted(key)) }

  /// The name of the member, which is noted where names are of interest.
  private func noted(_ key: Key) -> String {
    let name = key.stringValue
    node.requested?.append(name)
    return name
  }

  private func path(of key: Key) -> JSONPath { .member(key.stringValue, of: node.path) }

  private func value(for key: Key) throws -> JSONNode {
    guard let value = members.request(noted(key)) else {
      throw JSONDecodingError(path: path(of: key).pointer, problem: .missing)
    }
    return value
  }

  func decodeNil(forKey key: Key) throws -> Bool {
    guard contains(key) else { return true }
    return try value(for: key).isNull
  }

  func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool {
    try ScalarDecoding.bool(value(for: key), at: path(of: key))
  }

  func decode(_ type: String.Type, forKey key: Key) throws -> String {
    try ScalarDecoding.string(value(for: key), at: path(of: key))
  }

  func decode(_ type: Int.Type, forKey key: Key) throws -> Int {
    try ScalarDecoding.integer(value(for: key), as: type, at: path(of: key))
  }

  func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
    try DecodingNode.decode(type, value(for: key), at: path(of: key), options: node.options)
  }

  // Most members of most objects are optional. The protocol's own versions of these look up each one three times.

  /// The member's value; nil when it is absent or null.
  private func present(_ key: Key) -> JSONNode? {
    guard let value = members.request(noted(key)), !value.isNull else { return nil }
    return value
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

/// The decoding container of an array.
struct UnkeyedDecoding: UnkeyedDecodingContainer {
  let node: DecodingNode
  private(set) var currentIndex = 0

  init(node: DecodingNode) { self.node = node }

  var codingPath: [any CodingKey] { node.codingPath }
  var count: Int? { node.value.count }
  var isAtEnd: Bool { currentIndex >= node.value.count }

  private mutating func next() throws -> (JSONNode, JSONPath) {
    let path = JSONPath.element(currentIndex, of: node.path)
    guard let element = node.value.element(currentIndex) else {
      throw JSONDecodingError(path: path.pointer, problem: .missing)
    }
    currentIndex += 1
    return (element, path)
  }

  mutating func decodeNil() throws -> Bool {
    guard node.value.element(currentIndex)?.isNull == true else { return false }
    currentIndex += 1
    return true
  }

  mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    let (value, path) = try next()
    return try DecodingNode.decode(type, value, at: path, options: node.options)
  }

  mutating func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type
  ) throws -> KeyedDecodingContainer<Nested> {
    let (value, path) = try next()
    return try DecodingNode(value, at: path, options: node.options).container(keyedBy: type)
  }

  mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
    let (value, path) = try next()
    return try DecodingNode(value, at: path, options: node.options).unkeyedContainer()
  }

  mutating func superDecoder() throws -> any Decoder {
    let (value, path) = try next()
    return DecodingNode(value, at: path, options: node.options)
  }
}

/// The decoding container of a single value.
struct SingleValueDecoding: SingleValueDecodingContainer {
  let node: DecodingNode

  var codingPath: [any CodingKey] { node.codingPath }

  func decodeNil() -> Bool { node.value.isNull }
  func decode(_ type: Bool.Type) throws -> Bool { try ScalarDecoding.bool(node.value, at: node.path) }
  func decode(_ type: String.Type) throws -> String { try ScalarDecoding.string(node.value, at: node.path) }
  func decode(_ type: Double.Type) throws -> Double { try ScalarDecoding.real(node.value, at: node.path) }
  func decode(_ type: Float.Type) throws -> Float { Float(try ScalarDecoding.real(node.value, at: node.path)) }
  func decode(_ type: Int.Type) throws -> Int { try integer(type) }
  func decode(_ type: Int8.Type) throws -> Int8 { try integer(type) }
  func decode(_ type: Int16.Type) throws -> Int16 { try integer(type) }
  func decode(_ type: Int32.Type) throws -> Int32 { try integer(type) }
  func decode(_ type: Int64.Type) throws -> Int64 { try integer(type) }
  func decode(_ type: UInt.Type) throws -> UInt { try integer(type) }
  func decode(_ type: UInt8.Type) throws -> UInt8 { try integer(type) }
  func decode(_ type: UInt16.Type) throws -> UInt16 { try integer(type) }
  func decode(_ type: UInt32.Type) throws -> UInt32 { try integer(type) }
  func decode(_ type: UInt64.Type) throws -> UInt64 { try integer(type) }

  func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    try DecodingNode.decode(type, node.value, at: node.path, options: node.options)
  }

  private func integer<Number: FixedWidthInteger>(_ type: Number.Type) throws -> Number {
    try ScalarDecoding.integer(node.value, as: type, at: node.path)
  }
}
