import PosternJSON

/// Finds a type's JSON Schema by decoding it from nothing and recording which members it decodes.
///
/// So the schema of params and results is what the code really decodes, and cannot drift from it.
enum SchemaRecorder {
  /// The schema of `type`. Types that cannot be recorded describe themselves through `SchemaDescribed`.
  static func schema(of type: any Decodable.Type) -> JSONValue {
    switch type {
    case let described as any SchemaDescribed.Type: described.schema
    case is Bool.Type: ["type": "boolean"]
    case is String.Type: ["type": "string"]
    case is Double.Type, is Float.Type: ["type": "number"]
    case is any FixedWidthInteger.Type: ["type": "integer"]
    default: object(type)
    }
  }

  /// The members of `type`, an object: name, schema, whether required, and documentation where it has any.
  static func members(of type: any Decodable.Type) -> [RecordedMember] {
    let recording = Recording()
    // The result is ignored, and a type may reject the samples: the members it decoded are recorded.
    _ = try? type.init(from: RecordingDecoder(recording: recording))
    let docs = (type as? any RPCObject.Type)?.memberDocs ?? [:]
    return recording.members.map { member in
      var member = member
      member.documentation = docs[member.name]
      return member
    }
  }

  private static func object(_ type: any Decodable.Type) -> JSONValue {
    let members = members(of: type)
    var properties = JSONObject()
    for member in members { properties[member.name] = member.documentedSchema }
    var schema: JSONObject = ["type": "object", "properties": .object(properties)]
    let required = members.filter(\.isRequired).map { JSONValue.string($0.name) }
    if !required.isEmpty { schema["required"] = .array(required) }
    schema["additionalProperties"] = false
    return .object(schema)
  }

  /// Any value of `type`, to get past it while recording what encloses it.
  static func sample<Value: Decodable>(of type: Value.Type) throws -> Value {
    if let described = type as? any SchemaDescribed.Type, let sample = described.sample as? Value { return sample }
    return try Value(from: RecordingDecoder(recording: Recording()))
  }
}

/// One member that a type decoded.
struct RecordedMember {
  let name: String
  let schema: JSONValue
  let isRequired: Bool
  var documentation: String?

  /// The schema with the documentation as its description.
  var documentedSchema: JSONValue {
    guard let documentation, case .object(var object) = schema else { return schema }
    object["description"] = .string(documentation)
    return .object(object)
  }
}

/// The members that one type has decoded so far; used by one recording only.
final class Recording {
  private(set) var members: [RecordedMember] = []
  private var optional: Set<String> = []

  /// `decodeIfPresent` tests whether a member is there before it decodes it; `decode` does not.
  func testedForPresence(_ name: String) { optional.insert(name) }

  func decoded(_ name: String, _ schema: JSONValue) {
    members.append(RecordedMember(name: name, schema: schema, isRequired: !optional.contains(name)))
  }
}

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
