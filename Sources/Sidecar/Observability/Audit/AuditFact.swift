import AuthEngine
import PosternCrypto
import PosternJSON
import PosternSupport

/// Values in a record: short, and never a handle.
enum AuditFact {
  /// The longest text in bytes that is recorded as it is.
  static let maxBytes = 256

  /// The value; a long text is cut, and its SHA-256 added. Nil for what is null.
  static func bounded(_ value: JSONValue) -> JSONValue? {
    switch value {
    case .string(let text): .string(bounded(text))
    case .null: nil
    case .array(let values): .array(values.prefix(64).compactMap(boundedScalar))
    case .object: nil
    default: value
    }
  }

  /// A value in a list; nested lists are left out, because they would multiply.
  private static func boundedScalar(_ value: JSONValue) -> JSONValue? {
    if case .array = value { return nil }
    return bounded(value)
  }

  /// The text, cut in bytes where it is long: by its hash it can still be recognised.
  static func bounded(_ text: String) -> String {
    guard text.utf8.count > maxBytes else { return text }
    let start = String(decoding: text.utf8.prefix(maxBytes / 2), as: UTF8.self)
    return "\(start)… sha256:\(Hexadecimal.string(HashFunction.sha256.hash(Array(text.utf8))))"
  }

  /// The digest that stands for a session: the hash under which it is stored, of which logs have the beginning.
  static func session(_ handle: JSONValue) -> JSONValue? {
    handle.stringValue.flatMap { try? SessionHandle($0) }.map { session($0) }
  }

  /// As above.
  static func session(_ handle: SessionHandle) -> JSONValue {
    .string(Hexadecimal.string(HashFunction.sha256.hash(Array(handle.text.utf8))))
  }
}
