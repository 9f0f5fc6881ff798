public import PosternSupport

/// Encodes `Encodable` types to `JSONValue`; members keep the order in which they are encoded, nil members are left
/// out.
public struct JSONValueEncoder: Sendable {
  /// An encoder.
  public init() {}

  /// The JSON value of `value`. Throws `EncodingError` for numbers JSON cannot express.
  public func encode(_ value: some Encodable) throws -> JSONValue {
    try EncodingNode.encode(value, at: [])
  }
}

/// The encoder of one value. Used by one call of `JSONValueEncoder.encode`, never shared.
final class EncodingNode: Encoder {
  /// The content encoded so far.
  enum Content {
    case none
    case value(JSONValue)
    case members([JSONObject.Member])
    case elements([JSONValue])
  }

  let codingPath: [any CodingKey]
  var content = Content.none
  /// Containers that are filled from outside, with their positions in the content.
  private var nested: [(position: Int, node: EncodingNode)] = []

  init(at codingPath: [any CodingKey]) { self.codingPath = codingPath }

  var userInfo: [CodingUserInfoKey: Any] { [:] }

  /// `codingPath` is for errors: an autoclosure, since most values are complete without one.
  static func encode<Value: Encodable>(
    _ value: Value, at codingPath: @autoclosure () -> [any CodingKey]
  ) throws -> JSONValue {
    if let json = value as? JSONValue { return json }
    let node = EncodingNode(at: codingPath())
    try value.encode(to: node)
    return node.result
  }

  /// The encoded value.
  var result: JSONValue {
    for (position, node) in nested { replace(position, with: node.result) }
    return switch content {
    case .none: .object(JSONObject())
    case .value(let value): value
    case .members(let members): .object(JSONObject(distinct: members))
    case .elements(let elements): .array(elements)
    }
  }

  private func replace(_ position: Int, with value: JSONValue) {
    switch content {
    case .members(var members):
      content = .none
      members[position] = JSONObject.Member(name: members[position].name, value: value)
      content = .members(members)
    case .elements(var elements):
      content = .none
      elements[position] = value
      content = .elements(elements)
    case .none, .value: break
    }
  }

  func append(_ value: JSONValue, named name: String) {
    guard case .members(var members) = content else { return }
    content = .none
    members.append(JSONObject.Member(name: name, value: value))
    content = .members(members)
  }

  func append(_ value: JSONValue) {
    guard case .elements(var elements) = content else { return }
    content = .none
    elements.append(value)
    content = .elements(elements)
  }

  /// A node for the value that was appended last.
  func child(_ key: any CodingKey) -> EncodingNode {
    let child = EncodingNode(at: codingPath + [key])
    switch content {
    case .members(let members): nested.append((members.count - 1, child))
    case .elements(let elements): nested.append((elements.count - 1, child))
    case .none, .value: break
    }
    return child
  }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    if case .none = content { content = .members([]) }
    return KeyedEncodingContainer(KeyedEncoding<Key>(node: self))
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer {
    if case .none = content { content = .elements([]) }
    return UnkeyedEncoding(node: self)
  }

  func singleValueContainer() -> any SingleValueEncodingContainer { SingleValueEncoding(node: self) }

  func number(_ value: Double) throws -> JSONValue {
    guard value.isFinite else {
      throw EncodingError.invalidValue(
        value, .init(codingPath: codingPath, debugDescription: "JSON has no such number"))
    }
    return .real(value)
  }

  func number(_ value: some FixedWidthInteger) throws -> JSONValue {
    guard let integer = Int64(exactly: value) else {
      throw EncodingError.invalidValue(
        value, .init(codingPath: codingPath, debugDescription: "beyond 64-bit integers"))
    }
    return .integer(integer)
  }
}

/// The encoding container of an object. Scalars without a method of their own go through the generic one.
struct KeyedEncoding<Key: CodingKey>: KeyedEncodingContainerProtocol {
  let node: EncodingNode

  var codingPath: [any CodingKey] { node.codingPath }

  private func put(_ value: JSONValue, _ key: Key) { node.append(value, named: key.stringValue) }

  private func child(_ key: Key) -> EncodingNode {
    put(.null, key)
    return node.child(key)
  }

  func encodeNil(forKey key: Key) throws { put(.null, key) }
  func encode(_ value: Bool, forKey key: Key) throws { put(.bool(value), key) }
  func encode(_ value: String, forKey key: Key) throws { put(.string(value), key) }
  func encode(_ value: Int, forKey key: Key) throws { put(.integer(Int64(value)), key) }
  func encode(_ value: Int64, forKey key: Key) throws { put(.integer(value), key) }

  func encode(_ value: some Encodable, forKey key: Key) throws {
    put(try EncodingNode.encode(value, at: node.codingPath + [key]), key)
  }

  func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type, forKey key: Key
  ) -> KeyedEncodingContainer<Nested> {
    child(key).container(keyedBy: type)
  }

  func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer { child(key).unkeyedContainer() }

  func superEncoder() -> any Encoder { node }

  func superEncoder(forKey key: Key) -> any Encoder { child(key) }
}

/// The encoding container of an array.
struct UnkeyedEncoding: UnkeyedEncodingContainer {
  let node: EncodingNode
  private(set) var count = 0

  init(node: EncodingNode) { self.node = node }

  var codingPath: [any CodingKey] { node.codingPath }

  private mutating func put(_ value: JSONValue) {
    node.append(value)
    count += 1
  }

  private mutating func child() -> EncodingNode {
    let key = AnyJSONKey(intValue: count)
    put(.null)
    return node.child(key)
  }

  mutating func encodeNil() throws { put(.null) }

  mutating func encode(_ value: some Encodable) throws {
    put(try EncodingNode.encode(value, at: node.codingPath + [AnyJSONKey(intValue: count)]))
  }

  mutating func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) -> KeyedEncodingContainer<Nested> {
    child().container(keyedBy: type)
  }

  mutating func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { child().unkeyedContainer() }

  mutating func superEncoder() -> any Encoder { child() }
}

/// The encoding container of a single value.
struct SingleValueEncoding: SingleValueEncodingContainer {
  let node: EncodingNode

  var codingPath: [any CodingKey] { node.codingPath }

  private func put(_ value: JSONValue) { node.content = .value(value) }

  func encodeNil() throws { put(.null) }
  func encode(_ value: Bool) throws { put(.bool(value)) }
  func encode(_ value: String) throws { put(.string(value)) }
  func encode(_ value: Double) throws { put(try node.number(value)) }
  func encode(_ value: Float) throws { put(try node.number(Double(value))) }
  func encode(_ value: Int) throws { put(try node.number(value)) }
  func encode(_ value: Int8) throws { put(try node.number(value)) }
  func encode(_ value: Int16) throws { put(try node.number(value)) }
  func encode(_ value: Int32) throws { put(try node.number(value)) }
  func encode(_ value: Int64) throws { put(try node.number(value)) }
  func encode(_ value: UInt) throws { put(try node.number(value)) }
  func encode(_ value: UInt8) throws { put(try node.number(value)) }
  func encode(_ value: UInt16) throws { put(try node.number(value)) }
  func encode(_ value: UInt32) throws { put(try node.number(value)) }
  func encode(_ value: UInt64) throws { put(try node.number(value)) }

  func encode(_ value: some Encodable) throws { put(try EncodingNode.encode(value, at: codingPath)) }
}

extension JSONValueEncoder: ConciseStringConvertible {}
