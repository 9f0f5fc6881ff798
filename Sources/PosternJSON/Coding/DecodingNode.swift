/// The decoder of one value. Belongs to one call of `JSONValueDecoder.decode`, never shared.
final class DecodingNode: Decoder {
  let value: JSONValue
  let path: JSONPath
  let options: JSONValueDecoder
  /// Which members of an object somebody asked for; nil until a keyed container was made.
  var visited: [Bool]?

  init(_ value: JSONValue, at path: JSONPath, options: JSONValueDecoder) {
    self.value = value
    self.path = path
    self.options = options
  }

  var codingPath: [any CodingKey] { path.codingPath }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  /// Decodes one value and sees to it that no member was left over.
  static func decode<Value: Decodable>(
    _ type: Value.Type, _ value: JSONValue, at path: JSONPath, options: JSONValueDecoder
  ) throws -> Value {
    if let raw = type as? any RawJSONDecodable.Type {
      do {
        if let result = try raw.init(rawJSON: value) as? Value { return result }
      } catch {
        throw JSONDecodingError(path: path.pointer, problem: error.problem)
      }
    }
    if type == [String].self, let result = try strings(value, at: path) as? Value { return result }
    if type == JSONValue.self, value.containsNUL { throw nulError(at: path) }
    let node = DecodingNode(value, at: path, options: options)
    let result: Value
    do {
      result = try Value(from: node)
    } catch let error as JSONDecodingError {
      throw error
    } catch DecodingError.dataCorrupted {
      throw JSONDecodingError(path: path.pointer, problem: .invalid("is not one of the accepted values"))
    }
    try node.refuseLeftovers()
    return result
  }

  /// A list of strings, the commonest list there is, without a decoder for each of them; nil when it is no list.
  private static func strings(_ value: JSONValue, at path: JSONPath) throws -> [String]? {
    guard case .array(let elements) = value else { return nil }
    var strings: [String] = []
    strings.reserveCapacity(elements.count)
    for (index, element) in elements.enumerated() {
      strings.append(try ScalarDecoding.string(element, at: .element(index, of: path)))
    }
    return strings
  }

  static func nulError(at path: JSONPath) -> JSONDecodingError {
    JSONDecodingError(path: path.pointer, problem: .invalid("must not contain U+0000"))
  }

  func mismatch(_ expected: String) -> JSONDecodingError {
    JSONDecodingError(path: path.pointer, problem: .mismatch(expected: expected, actual: value.kind))
  }

  /// Everything in this object counts as asked for.
  func markUsed() {
    visited = nil
  }

  private func refuseLeftovers() throws {
    guard !options.ignoresUnknownMembers, let visited, case .object(let object) = value else { return }
    if let position = visited.firstIndex(of: false) {
      throw JSONDecodingError(
        path: JSONPath.member(object.members[position].name, of: path).pointer, problem: .unknownMember)
    }
  }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    guard case .object(let object) = value else { throw mismatch("an object") }
    if visited == nil { visited = Array(repeating: false, count: object.count) }
    return KeyedDecodingContainer(KeyedDecoding<Key>(node: self, object: object))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    guard case .array(let elements) = value else { throw mismatch("an array") }
    return UnkeyedDecoding(node: self, elements: elements)
  }

  func singleValueContainer() throws -> any SingleValueDecodingContainer { SingleValueDecoding(node: self) }
}
