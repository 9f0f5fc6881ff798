/// A type that takes the JSON value as it is, U+0000 in strings included: resource bodies and parameters only (wire.md
/// section 2).
public protocol RawJSONDecodable: Decodable {
  /// Takes `json`; throws a problem when it is of the wrong kind.
  init(rawJSON json: JSONValue) throws(RawJSONProblem)
}

/// Why a raw value is not acceptable; the decoder adds the path.
public struct RawJSONProblem: Error, Sendable {
  /// What is wrong.
  public let problem: JSONDecodingError.Problem
  /// A problem.
  public init(_ problem: JSONDecodingError.Problem) { self.problem = problem }
}

extension JSONValue: Codable {
  /// Works only with `JSONValueDecoder`, which hands the value over without walking it.
  public init(from decoder: any Decoder) throws {
    guard let node = decoder as? DecodingNode else {
      throw JSONDecodingError(path: "", problem: .invalid("can be decoded by JSONValueDecoder only"))
    }
    node.markUsed()
    self = node.value
  }

  /// Works only with `JSONValueEncoder`, which takes the value over as it is.
  public func encode(to encoder: any Encoder) throws {
    guard let node = encoder as? EncodingNode else {
      throw EncodingError.invalidValue(
        self, .init(codingPath: encoder.codingPath, debugDescription: "JSONValueEncoder only"))
    }
    node.content = .value(self)
  }
}
