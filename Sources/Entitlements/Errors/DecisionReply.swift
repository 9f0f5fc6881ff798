import HTTPMessages
import PosternJSON

/// Reads what decision points answer.
enum DecisionReply {
  /// The largest answer in bytes.
  static let maxBytes = 4 << 20
  /// Duplicate members are refused (RFC 7493 section 2.3), depth and size bounded.
  static let parser = JSONParser(maxBytes: maxBytes, maxDepth: 64)

  /// The document of a 2xx answer; anything else is thrown as what it means.
  static func document(of response: HTTPResponse, trace: String? = nil) throws(DecisionFault) -> JSONValue {
    guard (200..<300).contains(response.status) else { throw DecisionFault(response, trace: trace) }
    guard isJSON(response) else { throw .format("the decision point's answer is not JSON", trace: trace) }
    guard let document = try? parser.parse(response.body) else {
      throw .format("the decision point's answer is not valid JSON", trace: trace)
    }
    return document
  }

  /// Whether the answer is JSON by its type; one without a type may be.
  static func isJSON(_ response: HTTPResponse) -> Bool {
    response.fields["Content-Type"].map { MediaType($0)?.isJSON ?? false } ?? true
  }
}
