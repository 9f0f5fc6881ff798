/// Members of an object being encoded.
struct KeyedEncoding<Key: CodingKey>: KeyedEncodingContainerProtocol {
  let node: EncodingNode

  var codingPath: [any CodingKey] { node.codingPath }

  private func put(_ value: JSONValue, _ key: Key) { node.append(EncodingNode(value), named: key.stringValue) }

  private func child(_ key: Key) -> EncodingNode {
    let child = EncodingNode(at: node.codingPath + [key])
    node.append(child, named: key.stringValue)
    return child
  }

  func encodeNil(forKey key: Key) throws { put(.null, key) }
  func encode(_ value: Bool, forKey key: Key) throws { put(.bool(value), key) }
  func encode(_ value: String, forKey key: Key) throws { put(.string(value), key) }
  func encode(_ value: Double, forKey key: Key) throws { put(try node.number(value), key) }
  func encode(_ value: Float, forKey key: Key) throws { put(try node.number(Double(value)), key) }
  func encode(_ value: Int, forKey key: Key) throws { put(try node.number(value), key) }
  func encode(_ value: Int8, forKey key: Key) throws { put(try node.number(value), key) }
  func encode(_ value: Int16, forKey key: Key) throws { put(try node.number(value), key) }
  func encode(_ value: Int32, forKey key: Key) throws { put(try node.number(value), key) }
  func encode(_ value: Int64, forKey key: Key) throws { put(try node.number(value), key) }
  func encode(_ value: UInt, forKey key: Key) throws { put(try node.number(value), key) }
  func encode(_ value: UInt8, forKey key: Key) throws { put(try node.number(value), key) }
  func encode(_ value: UInt16, forKey key: Key) throws { put(try node.number(value), key) }
  func encode(_ value: UInt32, forKey key: Key) throws { put(try node.number(value), key) }
  func encode(_ value: UInt64, forKey key: Key) throws { put(try node.number(value), key) }

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
