public import PosternSupport

/// Decodes `Decodable` types from `JSONValue` strictly: unknown members, reals for integers and U+0000 are errors with
/// a path.
public struct JSONValueDecoder: Sendable {
  /// Whether unknown members are ignored: for responses of other servers, never for callers' params.
  public var ignoresUnknownMembers: Bool

  /// A decoder; strict by default.
  public init(ignoresUnknownMembers: Bool = false) { self.ignoresUnknownMembers = ignoresUnknownMembers }

  /// The value as `type`.
  public func decode<Value: Decodable>(
    _ type: Value.Type, from value: JSONValue
  ) throws(JSONDecodingError) -> Value {
    try decode(type, from: JSONTree(value))
  }

  /// The value of `tree` as `type`, read in place.
  public func decode<Value: Decodable>(
    _ type: Value.Type, from tree: JSONTree
  ) throws(JSONDecodingError) -> Value {
    do {
      // Nodes borrow from the tree.
      return try withExtendedLifetime(tree) { try DecodingNode.decode(type, tree.node, at: .root, options: self) }
    } catch let error as JSONDecodingError {
      throw error
    } catch {
      throw JSONDecodingError(path: "", problem: .invalid("is not acceptable"))
    }
  }
}

/// The reason why a JSON value cannot be decoded as a type, and its path.
public struct JSONDecodingError: Error, Sendable, Hashable, ConciseStringConvertible {
  /// The kind of fault.
  public enum Problem: Sendable, Hashable {
    /// A required member is absent.
    case missing
    /// A member that the type does not have: a typo must never silently change the meaning. `closest` is the member
    /// that it most likely stands for.
    case unknownMember(closest: String?)
    /// Another kind of value was expected.
    case mismatch(expected: String, actual: String)
    /// A value of the right kind that is not acceptable; the text never quotes it.
    case invalid(String)
  }

  /// The path to the value, as a JSON Pointer (RFC 6901); empty for the whole value.
  public let path: String
  /// The fault.
  public let problem: Problem

  /// An error of the given parts.
  public init(path: String, problem: Problem) {
    self.path = path
    self.problem = problem
  }

  /// A sentence for people.
  public var description: String {
    let subject = path.isEmpty ? "the value" : path
    return switch problem {
    case .missing: "\(subject) is required"
    case .unknownMember(let closest):
      "\(subject) is not a known member" + (closest.map { "; did you mean \($0)?" } ?? "")
    case .mismatch(let expected, let actual): "\(subject) must be \(expected), not \(actual)"
    case .invalid(let reason): "\(subject) \(reason)"
    }
  }
}

/// A type that is decoded from the unchecked JSON value, U+0000 in strings included: resource bodies and parameters
/// only (wire.md section 2).
public protocol RawJSONDecodable: Decodable {
  /// Decodes `json`; throws when it is of the wrong kind.
  init(rawJSON json: JSONValue) throws(RawJSONProblem)
}

/// The reason why a raw value is not acceptable; the decoder adds the path.
public struct RawJSONProblem: Error, Sendable {
  /// The fault.
  public let problem: JSONDecodingError.Problem
  /// An error for `problem`.
  public init(_ problem: JSONDecodingError.Problem) { self.problem = problem }
}

extension JSONValue: Codable {
  /// Works only with `JSONValueDecoder`, which passes the value on as it is.
  public init(from decoder: any Decoder) throws {
    guard let node = decoder as? DecodingNode else {
      throw JSONDecodingError(path: "", problem: .invalid("can be decoded by JSONValueDecoder only"))
    }
    node.markUsed()
    self = node.value.value
  }

  /// Works only with `JSONValueEncoder`, which passes the value on as it is.
  public func encode(to encoder: any Encoder) throws {
    guard let node = encoder as? EncodingNode else {
      throw EncodingError.invalidValue(
        self, .init(codingPath: encoder.codingPath, debugDescription: "JSONValueEncoder only"))
    }
    node.content = .value(self)
  }
}

extension JSONValueDecoder: ConciseStringConvertible {}

extension JSONDecodingError.Problem: ConciseStringConvertible {
  /// The error without a path.
  public var description: String { JSONDecodingError(path: "", problem: self).description }
}

extension RawJSONProblem: ConciseStringConvertible {
  /// The fault.
  public var description: String { "\(problem)" }
}
