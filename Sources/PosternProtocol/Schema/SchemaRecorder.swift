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
