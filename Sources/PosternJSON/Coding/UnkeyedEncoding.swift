/// Elements of an array being encoded.
struct UnkeyedEncoding: UnkeyedEncodingContainer {
  let node: EncodingNode
  private(set) var count = 0

  init(node: EncodingNode) { self.node = node }

  var codingPath: [any CodingKey] { node.codingPath }

  private mutating func put(_ value: JSONValue) {
    node.append(EncodingNode(value))
    count += 1
  }

  private mutating func child() -> EncodingNode {
    let child = EncodingNode(at: node.codingPath + [AnyJSONKey(intValue: count)])
    node.append(child)
    count += 1
    return child
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
