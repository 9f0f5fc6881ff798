/// The encoder of one value. Belongs to one call of `JSONValueEncoder.encode`, never shared.
final class EncodingNode: Encoder {
  /// What has been encoded so far.
  enum Content {
    case none
    case value(JSONValue)
    case members([(String, EncodingNode)])
    case elements([EncodingNode])
  }

  let codingPath: [any CodingKey]
  var content = Content.none

  init(at codingPath: [any CodingKey]) { self.codingPath = codingPath }

  init(_ value: JSONValue) {
    codingPath = []
    content = .value(value)
  }

  var userInfo: [CodingUserInfoKey: Any] { [:] }

  static func encode(_ value: some Encodable, at codingPath: [any CodingKey]) throws -> JSONValue {
    if let json = value as? JSONValue { return json }
    let node = EncodingNode(at: codingPath)
    try value.encode(to: node)
    return node.result
  }

  /// What has been encoded, as a value.
  var result: JSONValue {
    switch content {
    case .none: .object(JSONObject())
    case .value(let value): value
    case .members(let members): .object(JSONObject(members.map { ($0, $1.result) }))
    case .elements(let elements): .array(elements.map(\.result))
    }
  }

  func append(_ node: EncodingNode, named name: String) {
    guard case .members(var members) = content else { return content = .members([(name, node)]) }
    content = .none
    members.append((name, node))
    content = .members(members)
  }

  func append(_ node: EncodingNode) {
    guard case .elements(var elements) = content else { return content = .elements([node]) }
    content = .none
    elements.append(node)
    content = .elements(elements)
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
