/// One value by itself.
struct SingleValueDecoding: SingleValueDecodingContainer {
  let node: DecodingNode

  var codingPath: [any CodingKey] { node.codingPath }

  func decodeNil() -> Bool { node.value == .null }
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
