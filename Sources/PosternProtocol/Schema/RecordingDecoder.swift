import PosternJSON

/// Pretends that every member is there, and records which ones are decoded.
struct RecordingDecoder: Decoder {
  let recording: Recording
  var codingPath: [any CodingKey] { [] }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    KeyedDecodingContainer(RecordingContainer<Key>(recording: recording))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer { throw Unrecordable() }

  func singleValueContainer() throws -> any SingleValueDecodingContainer { throw Unrecordable() }
}

/// A type that is no object must describe itself.
struct Unrecordable: Error {}

/// The keyed half of `RecordingDecoder`.
struct RecordingContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
  let recording: Recording
  var codingPath: [any CodingKey] { [] }
  var allKeys: [Key] { [] }

  func contains(_ key: Key) -> Bool {
    recording.testedForPresence(key.stringValue)
    return true
  }

  func decodeNil(forKey key: Key) throws -> Bool { false }

  func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool { note(type, key, false) }
  func decode(_ type: String.Type, forKey key: Key) throws -> String { note(type, key, "") }
  func decode(_ type: Double.Type, forKey key: Key) throws -> Double { note(type, key, 0) }
  func decode(_ type: Int.Type, forKey key: Key) throws -> Int { note(type, key, 0) }
  func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 { note(type, key, 0) }

  func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
    note(type, key, try SchemaRecorder.sample(of: type))
  }

  private func note<Value: Decodable>(_ type: Value.Type, _ key: Key, _ value: Value) -> Value {
    recording.decoded(key.stringValue, SchemaRecorder.schema(of: type))
    return value
  }

  func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type, forKey key: Key
  ) throws -> KeyedDecodingContainer<Nested> { throw Unrecordable() }

  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer { throw Unrecordable() }
  func superDecoder() throws -> any Decoder { throw Unrecordable() }
  func superDecoder(forKey key: Key) throws -> any Decoder { throw Unrecordable() }
}
