package import HTTPMessages
package import PosternJSON
import PosternSupport

/// Reads the JSON documents of decision points' answers.
package enum DecisionReply {
  /// The maximum size of an answer in bytes.
  package static let maxBytes = 4 << 20
  /// Rejects duplicate members (RFC 7493 section 2.3); depth and size are bounded.
  package static let parser = JSONParser(maxBytes: maxBytes, maxDepth: 64)

  /// Returns the document of a 2xx answer, whatever its media type; throws the fault of any other answer.
  package static func document(of response: HTTPResponse, trace: String? = nil) throws(DecisionFault) -> JSONValue {
    guard (200..<300).contains(response.status) else { throw DecisionFault(response, trace: trace) }
    guard let document = try? parser.parse(response.body) else {
      let type = response.fields["Content-Type"].flatMap(MediaType.init).flatMap { $0.isJSON ? nil : $0.essence }
      let stated = type.map { "; its Content-Type is \(EnhancedError.shortened($0))" } ?? ""
      throw .format("the decision point's answer is not valid JSON\(stated)", trace: trace)
    }
    return document
  }
}

/// The identifier of one request for both sides, in `X-Request-ID`.
package enum RequestIdentifier {
  static let field = "X-Request-ID"

  /// Makes a new identifier.
  static func make() -> String {
    String(NonSecretRandom.shared.next(), radix: 16) + String(NonSecretRandom.shared.next(), radix: 16)
  }

  /// Returns the identifier in `response`, or else the one that was sent.
  static func of(_ response: HTTPResponse, sent: String) -> String {
    checked(response.fields[field]) ?? sent
  }

  /// Returns `text` where it is fit for logs: 1 to 128 visible ASCII characters.
  package static func checked(_ text: String?) -> String? {
    text.flatMap { (1...128).contains($0.utf8.count) && $0.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F } ? $0 : nil }
  }
}
