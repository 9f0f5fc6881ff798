import CPosternJansson

/// Conversion of jansson's values and errors. `json_t` never leaves this module.
enum Jansson {
  /// Seeds jansson's hash function once, before the first object exists: seeding is not thread-safe by itself.
  static let seedOnce: Void = json_object_seed(0)

  /// A new jansson value, equal to `value`. A number that is not finite is null, as `JSONWriter` writes it.
  static func tree(of value: JSONValue) -> UnsafeMutablePointer<json_t> {
    seedOnce
    let made: UnsafeMutablePointer<json_t>? =
      switch value {
      case .null: json_null()
      case .bool(let flag): flag ? json_true() : json_false()
      case .integer(let number): json_integer(json_int_t(number))
      case .real(let number): number.isFinite ? json_real(number) : json_null()
      case .string(let text): withCharacters(of: text) { json_stringn_nocheck($0.baseAddress, $0.count) }
      case .array(let elements): array(of: elements)
      case .object(let object): Self.object(of: object)
      }
    guard let made else { preconditionFailure("out of memory") }
    return made
  }

  private static func array(of elements: [JSONValue]) -> UnsafeMutablePointer<json_t>? {
    let array = json_array()
    for element in elements { _ = json_array_append_new(array, tree(of: element)) }
    return array
  }

  private static func object(of members: JSONObject) -> UnsafeMutablePointer<json_t>? {
    let object = json_object()
    for member in members.members {
      withCharacters(of: member.name) {
        _ = json_object_setn_new_nocheck(object, $0.baseAddress, $0.count, tree(of: member.value))
      }
    }
    return object
  }

  private static func withCharacters<Result>(
    of text: String, _ body: (UnsafeBufferPointer<CChar>) -> Result
  ) -> Result {
    var text = text
    return text.withUTF8 { $0.withMemoryRebound(to: CChar.self, body) }
  }

  /// Copies a jansson value. Recursion is bounded by the parser's depth limit.
  static func value(from json: UnsafePointer<json_t>) -> JSONValue {
    switch postern_json_typeof(json) {
    case JSON_OBJECT: object(from: UnsafeMutablePointer(mutating: json))
    case JSON_ARRAY: array(from: json)
    case JSON_STRING: .string(string(from: json))
    case JSON_INTEGER: .integer(Int64(json_integer_value(json)))
    case JSON_REAL: .real(json_real_value(json))
    case JSON_TRUE: .bool(true)
    case JSON_FALSE: .bool(false)
    default: .null
    }
  }

  private static func object(from json: UnsafeMutablePointer<json_t>) -> JSONValue {
    var members: [JSONObject.Member] = []
    members.reserveCapacity(json_object_size(json))
    var iterator = json_object_iter(json)
    while let current = iterator {
      if let name = JSONNode.name(at: current), let member = json_object_iter_value(current) {
        members.append(JSONObject.Member(name: String(decoding: name, as: UTF8.self), value: value(from: member)))
      }
      iterator = json_object_iter_next(json, current)
    }
    return .object(JSONObject(distinct: members))
  }

  private static func array(from json: UnsafePointer<json_t>) -> JSONValue {
    let count = json_array_size(json)
    var elements: [JSONValue] = []
    elements.reserveCapacity(count)
    for position in 0..<count {
      if let element = json_array_get(json, position) { elements.append(value(from: element)) }
    }
    return .array(elements)
  }

  private static func string(from json: UnsafePointer<json_t>) -> String {
    guard let text = json_string_value(json) else { return "" }
    let bytes = UnsafeRawBufferPointer(start: text, count: json_string_length(json))
    return String(decoding: bytes, as: UTF8.self)
  }

  /// The kind of fault for jansson's error code; its text is not used, because it quotes the input.
  static func kind(of error: json_error_t) -> JSONParseError.Kind {
    let code = withUnsafePointer(to: error) { json_error_code(rawValue: UInt32(postern_json_error_code($0))) }
    return switch code {
    case json_error_premature_end_of_input: .truncated
    case json_error_invalid_utf8: .encoding
    case json_error_duplicate_key: .duplicateMember
    case json_error_numeric_overflow: .numberOutOfRange
    case json_error_null_character, json_error_null_byte_in_key: .nul
    case json_error_stack_overflow: .tooDeep
    default: .syntax
    }
  }
}

/// The JSON library in use.
public enum JSONLibrary {
  /// jansson's version at run time.
  public static var version: String { String(cString: jansson_version_str()) }
}
