/// One value by itself being encoded.
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
