/// Why a JSON value does not fit a type, and where.
public struct JSONDecodingError: Error, Sendable, Hashable, CustomStringConvertible {
  /// What is wrong.
  public enum Problem: Sendable, Hashable {
    /// A required member is absent.
    case missing
    /// A member nobody asked for: a typo must never silently change meaning.
    case unknownMember
    /// Another kind of value was expected.
    case mismatch(expected: String, actual: String)
    /// The right kind, but not an acceptable value; the text never quotes the value.
    case invalid(String)
  }

  /// Where, as a JSON Pointer (RFC 6901); empty for the whole value.
  public let path: String
  /// What is wrong.
  public let problem: Problem

  /// An error of the given parts.
  public init(path: String, problem: Problem) {
    self.path = path
    self.problem = problem
  }

  /// A sentence for people.
  public var description: String {
    let place = path.isEmpty ? "the value" : path
    return switch problem {
    case .missing: "\(place) is required"
    case .unknownMember: "\(place) is not a known member"
    case .mismatch(let expected, let actual): "\(place) must be \(expected), not \(actual)"
    case .invalid(let reason): "\(place) \(reason)"
    }
  }
}
