import Glibc
import PosternSupport

/// The decoder of one value. Used by one call of `JSONValueDecoder.decode`, never shared.
final class DecodingNode: Decoder {
  /// Borrowed from the tree that is decoded.
  let value: JSONNode
  let path: JSONPath
  let options: JSONValueDecoder
  /// The names of all members that the type requests, present or not; nil where they are not of interest.
  let requested: RequestedNames?
  /// The members of an object; nil until a keyed container is made.
  private var members: ObjectMembers?

  init(_ value: JSONNode, at path: JSONPath, options: JSONValueDecoder, requested: RequestedNames? = nil) {
    self.value = value
    self.path = path
    self.options = options
    self.requested = requested
  }

  var codingPath: [any CodingKey] { path.codingPath }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  /// Decodes one value and throws when one of its members is unknown.
  static func decode<Value: Decodable>(
    _ type: Value.Type, _ value: JSONNode, at path: JSONPath, options: JSONValueDecoder
  ) throws -> Value {
    if let raw = type as? any RawJSONDecodable.Type {
      do {
        if let result = try raw.init(rawJSON: value.value) as? Value { return result }
      } catch {
        throw JSONDecodingError(path: path.pointer, problem: error.problem)
      }
    }
    if type == [String].self, let result = try strings(value, at: path) as? Value { return result }
    if type == JSONValue.self, value.value.containsNUL { throw nulError(at: path) }
    let node = DecodingNode(value, at: path, options: options)
    let result: Value
    do {
      result = try Value(from: node)
    } catch let error as JSONDecodingError {
      throw error
    } catch DecodingError.dataCorrupted(let context) {
      let message = type is any RawRepresentable.Type ? unaccepted(value, as: type) : context.debugDescription
      throw JSONDecodingError(path: path.pointer, problem: .invalid(message))
    }
    if let name = node.unknownMember {
      let problem = JSONDecodingError.Problem.unknownMember(closest: closest(to: name, in: type, value))
      throw JSONDecodingError(path: JSONPath.member(name, of: path).pointer, problem: problem)
    }
    return result
  }

  /// The problem of `value`, which is none of the cases of `type`.
  private static func unaccepted(_ value: JSONNode, as type: Any.Type) -> String {
    func cases<Choice: CaseIterable & RawRepresentable>(of type: Choice.Type) -> [String] {
      type.allCases.compactMap { $0.rawValue as? String }
    }
    guard let type = type as? any (CaseIterable & RawRepresentable).Type, let text = value.string else {
      return "is not one of the accepted values"
    }
    return Suggestion.message(for: text, among: cases(of: type))
  }

  /// The member of `type` that `name` most likely stands for. Decodes the value a second time, which only an error
  /// costs.
  private static func closest<Value: Decodable>(
    to name: String, in type: Value.Type, _ value: JSONNode
  ) -> String? {
    let requested = RequestedNames()
    let options = JSONValueDecoder(ignoresUnknownMembers: true)
    _ = try? Value(from: DecodingNode(value, at: .root, options: options, requested: requested))
    return Suggestion.closest(to: name, among: requested.names)
  }

  /// An array of strings, the most common array, without a decoder for each element; nil when it is no array.
  static func strings(_ value: JSONNode, at path: JSONPath) throws -> [String]? {
    guard value.isArray else { return nil }
    var strings: [String] = []
    strings.reserveCapacity(value.count)
    for index in 0..<value.count {
      guard let element = value.element(index) else { break }
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

  /// Treats all members of this object as requested.
  func markUsed() { members?.requestAll() }

  /// The first member that the type has not requested, where that is an error.
  private var unknownMember: String? { options.ignoresUnknownMembers ? nil : members?.notRequested }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    guard value.isObject else { throw mismatch("an object") }
    let members = members ?? ObjectMembers(of: value)
    self.members = members
    return KeyedDecodingContainer(KeyedDecoding<Key>(node: self, members: members))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    guard value.isArray else { throw mismatch("an array") }
    return UnkeyedDecoding(node: self)
  }

  func singleValueContainer() throws -> any SingleValueDecodingContainer { SingleValueDecoding(node: self) }
}

/// The names of the members that a type requests.
final class RequestedNames {
  private(set) var names: [String] = []

  func append(_ name: String) { names.append(name) }
}

/// The path to a value inside a JSON text: a linked list, so that a level costs one small allocation.
indirect enum JSONPath {
  case root
  case member(String, of: JSONPath)
  case element(Int, of: JSONPath)

  /// The JSON Pointer (RFC 6901 section 3: `~` is `~0`, `/` is `~1`).
  var pointer: String {
    switch self {
    case .root: ""
    case .member(let name, let parent): "\(parent.pointer)/\(Self.escape(name))"
    case .element(let index, let parent): "\(parent.pointer)/\(index)"
    }
  }

  private static func escape(_ name: String) -> String {
    guard name.utf8.contains(where: { $0 == UInt8(ascii: "~") || $0 == UInt8(ascii: "/") }) else { return name }
    return name.reduce(into: "") { result, character in
      switch character {
      case "~": result += "~0"
      case "/": result += "~1"
      default: result.append(character)
      }
    }
  }

  /// The path as `Codable` represents it.
  var codingPath: [any CodingKey] {
    switch self {
    case .root: []
    case .member(let name, let parent): parent.codingPath + [AnyJSONKey(stringValue: name)]
    case .element(let index, let parent): parent.codingPath + [AnyJSONKey(intValue: index)]
    }
  }
}

/// A coding key of any name or index.
struct AnyJSONKey: CodingKey {
  let stringValue: String
  let intValue: Int?

  init(stringValue: String) {
    self.stringValue = stringValue
    intValue = nil
  }

  init(intValue: Int) {
    stringValue = String(intValue)
    self.intValue = intValue
  }
}

/// Decoding of scalars, for all three kinds of container. The path is made for an error only.
enum ScalarDecoding {
  static func bool(_ value: JSONNode, at path: @autoclosure () -> JSONPath) throws -> Bool {
    guard let flag = value.bool else { throw mismatch("a boolean", value, path()) }
    return flag
  }

  static func string(_ value: JSONNode, at path: @autoclosure () -> JSONPath) throws -> String {
    guard let text = value.text, let base = text.baseAddress else { throw mismatch("a string", value, path()) }
    guard memchr(base, 0, text.count) == nil else { throw DecodingNode.nulError(at: path()) }
    return String(decoding: text, as: UTF8.self)
  }

  static func integer<Number: FixedWidthInteger>(
    _ value: JSONNode, as type: Number.Type, at path: @autoclosure () -> JSONPath
  ) throws -> Number {
    guard let number = value.integer else { throw mismatch("an integer", value, path()) }
    guard let exact = Number(exactly: number) else {
      throw JSONDecodingError(path: path().pointer, problem: .invalid("is out of range"))
    }
    return exact
  }

  static func real(_ value: JSONNode, at path: @autoclosure () -> JSONPath) throws -> Double {
    guard let number = value.number else { throw mismatch("a number", value, path()) }
    return number
  }

  private static func mismatch(_ expected: String, _ value: JSONNode, _ path: JSONPath) -> JSONDecodingError {
    JSONDecodingError(path: path.pointer, problem: .mismatch(expected: expected, actual: value.kind))
  }
}
