/// The elements of one array.
struct UnkeyedDecoding: UnkeyedDecodingContainer {
  let node: DecodingNode
  let elements: [JSONValue]
  private(set) var currentIndex = 0

  init(node: DecodingNode, elements: [JSONValue]) {
    self.node = node
    self.elements = elements
  }

  var codingPath: [any CodingKey] { node.codingPath }
  var count: Int? { elements.count }
  var isAtEnd: Bool { currentIndex >= elements.count }

  private mutating func next() throws -> (JSONValue, JSONPath) {
    let path = JSONPath.element(currentIndex, of: node.path)
    guard !isAtEnd else { throw JSONDecodingError(path: path.pointer, problem: .missing) }
    defer { currentIndex += 1 }
    return (elements[currentIndex], path)
  }

  mutating func decodeNil() throws -> Bool {
    guard !isAtEnd, elements[currentIndex] == .null else { return false }
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
