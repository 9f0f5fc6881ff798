public import PosternJSON
import PosternSupport

/// The id of a request: a string or an integer, 0 included, echoed exactly (wire.md section 2).
public enum RPCID: Sendable {
  /// An integer id.
  case integer(Int64)
  /// A string id.
  case string(String)

  /// The id that is a member's value; nil for null, fractions, other kinds, and strings with U+0000.
  init?(_ member: JSONTree.Member) {
    if let number = member.integer {
      self = .integer(number)
      return
    }
    var text: String?
    guard member.read(&text), let text else { return nil }
    self = .string(text)
  }

  /// The JSON value on the wire.
  public var jsonValue: JSONValue {
    switch self {
    case .integer(let number): .integer(number)
    case .string(let text): .string(text)
    }
  }
}

extension RPCID: Hashable {
  /// Same number, or same bytes: `é` in one scalar and in two are two ids.
  public static func == (left: RPCID, right: RPCID) -> Bool {
    switch (left, right) {
    case (.integer(let left), .integer(let right)): left == right
    case (.string(let left), .string(let right)): left.hasSameBytes(as: right)
    default: false
    }
  }

  /// Feeds the number, or what canonically equivalent texts have in common.
  public func hash(into hasher: inout Hasher) {
    switch self {
    case .integer(let number): hasher.combine(number)
    case .string(let text): hasher.combine(text)
    }
  }
}
