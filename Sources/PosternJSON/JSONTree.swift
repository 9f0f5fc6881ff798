import CPosternJansson
import Glibc
public import PosternSupport

/// A JSON value as jansson has read it: its members are read in place, without a second tree of Swift values.
///
/// Nothing changes it once it exists, so any thread may read it. jansson counts the references to values atomically
/// (`CJansson.h` checks that), so trees may share values.
public final class JSONTree: @unchecked Sendable {
  let node: JSONNode

  /// Takes over the caller's reference.
  init(owning pointer: UnsafeMutablePointer<json_t>) { node = JSONNode(pointer) }

  deinit { json_decref(node.pointer) }

  /// The same value as `value`, for calls that came in no message.
  public convenience init(_ value: JSONValue) { self.init(owning: Jansson.tree(of: value)) }

  /// A copy as Swift values.
  public var value: JSONValue { node.value }

  /// Whether it is an object.
  public var isObject: Bool { node.isObject }

  /// Whether it is null.
  package var isNull: Bool { node.isNull }

  /// A copy of the member `name` of an object; nil when it is absent or this is not an object.
  public subscript(name: String) -> JSONValue? { node.member(name)?.value }

  /// Whether the tree has more than `limit` values, itself included. Stops counting there.
  package func hasMoreValues(than limit: Int) -> Bool {
    var rest = limit
    return !node.isCounted(within: &rest)
  }

  /// The elements of an array, each with a life of its own; nil when this is not an array.
  package var elements: [JSONTree]? {
    guard node.isArray else { return nil }
    return (0..<json_array_size(node.pointer)).compactMap {
      json_array_get(node.pointer, $0).map(JSONTree.init(sharing:))
    }
  }

  /// The members of an object in their order; none when this is not an object.
  @usableFromInline package var members: Members { Members(node) }

  /// The member `name` of an object, with a life of its own; nil when it is absent or this is not an object.
  package func member(_ name: String) -> JSONTree? { node.member(name).map { JSONTree(sharing: $0.pointer) } }

  /// The member `name` of an object, and a copy of the object without it; nil if the object has no such member.
  package func split(off name: String) -> (member: JSONTree, rest: JSONTree)? {
    guard let member = member(name) else { return nil }
    guard let rest = json_copy(node.pointer) else { preconditionFailure("out of memory") }
    _ = json_object_del(rest, name)
    return (member, JSONTree(owning: rest))
  }

  fileprivate convenience init(sharing pointer: UnsafeMutablePointer<json_t>) {
    self.init(owning: json_incref(pointer))
  }

  /// Visits the members of an object, which it borrows: the tree must outlive it.
  @usableFromInline
  package struct Members {
    private let object: JSONNode
    private var position: UnsafeMutableRawPointer?

    init(_ object: JSONNode) {
      self.object = object
      position = json_object_iter(object.pointer)
    }

    /// The next member, which may be used as long as the tree lives.
    @usableFromInline
    package mutating func next() -> Member? {
      guard let current = position, let name = JSONNode.name(at: current), let value = json_object_iter_value(current)
      else { return nil }
      position = json_object_iter_next(object.pointer, current)
      return Member(name: name, node: JSONNode(value))
    }
  }

  /// A member of an object, borrowed from its tree.
  @usableFromInline
  package struct Member {
    @usableFromInline let name: UnsafeRawBufferPointer
    let node: JSONNode

    fileprivate init(name: UnsafeRawBufferPointer, node: JSONNode) {
      self.name = name
      self.node = node
    }

    /// Whether its name has the same bytes as `text`.
    @inlinable @inline(__always)
    package func isNamed(_ text: StaticString) -> Bool {
      name.count == text.utf8CodeUnitCount && hasBytes(text)
    }

    /// Whether its name, which is as long as `text`, has the same bytes.
    @usableFromInline
    package func hasBytes(_ text: StaticString) -> Bool {
      guard let base = name.baseAddress else { return false }
      return memcmp(base, text.utf8Start, name.count) == 0
    }

    /// Whether its value is a string with the same bytes as `text`.
    package func isString(_ text: StaticString) -> Bool {
      guard let string = node.text, string.count == text.utf8CodeUnitCount, let base = string.baseAddress else {
        return false
      }
      return memcmp(base, text.utf8Start, string.count) == 0
    }

    /// Whether its value is null.
    @usableFromInline package var isNull: Bool { node.isNull }

    /// Whether its value is an object.
    package var isObject: Bool { node.isObject }

    /// Whether its value is an array.
    package var isArray: Bool { node.isArray }

    /// Its value as a string; nil when it is not one.
    package var string: String? { node.string }

    /// Its value as an integer; nil when it is not one.
    package var integer: Int64? { node.integer }

    /// A copy of its value.
    @usableFromInline package var value: JSONValue { node.value }

    /// Its value as a tree, with a life of its own.
    package var tree: JSONTree { JSONTree(sharing: node.pointer) }
  }
}

/// A value of a tree, borrowed: valid as long as the tree that it belongs to.
struct JSONNode {
  let pointer: UnsafeMutablePointer<json_t>

  init(_ pointer: UnsafeMutablePointer<json_t>) { self.pointer = pointer }

  var value: JSONValue { Jansson.value(from: pointer) }
  var isNull: Bool { type == JSON_NULL }
  var isObject: Bool { type == JSON_OBJECT }
  var isArray: Bool { type == JSON_ARRAY }
  var integer: Int64? { type == JSON_INTEGER ? Int64(json_integer_value(pointer)) : nil }
  var string: String? { text.map { String(decoding: $0, as: UTF8.self) } }

  var bool: Bool? {
    switch type {
    case JSON_TRUE: true
    case JSON_FALSE: false
    default: nil
    }
  }

  var number: Double? {
    switch type {
    case JSON_INTEGER: Double(json_integer_value(pointer))
    case JSON_REAL: json_real_value(pointer)
    default: nil
    }
  }

  /// The bytes of a string; nil when this is not a string.
  var text: UnsafeRawBufferPointer? {
    guard type == JSON_STRING, let bytes = json_string_value(pointer) else { return nil }
    return UnsafeRawBufferPointer(start: bytes, count: json_string_length(pointer))
  }

  /// How many members an object has, or elements an array.
  var count: Int { isArray ? json_array_size(pointer) : json_object_size(pointer) }

  /// Subtracts the number of its values from `rest`; false once `rest` is used up. The parser's depth limit bounds the
  /// recursion.
  func isCounted(within rest: inout Int) -> Bool {
    guard rest > 0 else { return false }
    rest -= 1
    if isArray {
      for position in 0..<count {
        guard element(position)?.isCounted(within: &rest) ?? true else { return false }
      }
    } else if isObject {
      var position = json_object_iter(pointer)
      while let current = position {
        guard json_object_iter_value(current).map({ JSONNode($0).isCounted(within: &rest) }) ?? true else {
          return false
        }
        position = json_object_iter_next(pointer, current)
      }
    }
    return true
  }

  /// The element of an array at `position`.
  func element(_ position: Int) -> JSONNode? { json_array_get(pointer, position).map(JSONNode.init) }

  /// The member `name` of an object.
  func member(_ name: String) -> JSONNode? {
    var name = name
    return name.withUTF8 { text in
      text.withMemoryRebound(to: CChar.self) { text in
        text.baseAddress.flatMap { json_object_getn(pointer, $0, text.count) }.map(JSONNode.init)
      }
    }
  }

  /// The kind, as JSON Schema names it.
  var kind: String {
    switch type {
    case JSON_OBJECT: "object"
    case JSON_ARRAY: "array"
    case JSON_STRING: "string"
    case JSON_INTEGER: "integer"
    case JSON_REAL: "number"
    case JSON_TRUE, JSON_FALSE: "boolean"
    default: "null"
    }
  }

  /// The name of the member that an iterator of an object is at.
  static func name(at position: UnsafeMutableRawPointer) -> UnsafeRawBufferPointer? {
    json_object_iter_key(position).map {
      UnsafeRawBufferPointer(start: $0, count: json_object_iter_key_len(position))
    }
  }

  private var type: json_type { postern_json_typeof(pointer) }
}

extension JSONTree: ExpressibleByDictionaryLiteral {
  /// An object; of repeated names the last value wins.
  public convenience init(dictionaryLiteral elements: (String, JSONValue)...) {
    self.init(.object(JSONObject(elements)))
  }
}

extension JSONTree: ConciseStringConvertible {
  /// The kind: values may be secret.
  public var description: String { "JSON \(node.kind)" }
}
