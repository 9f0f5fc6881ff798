package import HTTPMessages
package import PosternJSON
import PosternSupport

/// An answer of an OAuth endpoint, as servers really send it: whatever its media type, and an error with whatever
/// status.
package struct OAuthAnswer: Sendable {
  /// The most bytes of an answer.
  package static let maxBytes = 256 << 10

  private let response: HTTPResponse
  /// The members of the body; nil where it is not a JSON object.
  private let object: JSONObject?

  package init(_ response: HTTPResponse) {
    self.response = response
    object = (try? JSONParser(maxBytes: Self.maxBytes, maxDepth: 16).parse(response.body))?.objectValue
  }

  /// The members of a success: any 2xx with `member`. An object with `error` and without it is an error with any status,
  /// as GitHub and Casdoor send it.
  package func members(having member: String, of endpoint: String) throws(TokenError) -> JSONObject {
    guard (200..<300).contains(response.status) else { throw failure(of: endpoint) }
    if let object, !Self.isMissing(object[member]) { return object }
    if OAuthError(object.map { .object($0) }) != nil { throw failure(of: endpoint) }
    let what = object == nil ? "is not a JSON object" : "has no \(member)"
    throw TokenError(
      .malformed, "the \(endpoint) answered \(response.status), and the answer \(what)", status: response.status)
  }

  /// Throws unless the answer is a success: any 2xx without `error`, or with the success's own `member`.
  package func requireSuccess(of endpoint: String, having member: String? = nil) throws(TokenError) {
    let isError = OAuthError(object.map { .object($0) }) != nil && member.map { Self.isMissing(object?[$0]) } ?? true
    guard (200..<300).contains(response.status), !isError else { throw failure(of: endpoint) }
  }

  /// The error in a rejection (RFC 6749 section 5.2), temporary by its code or, with any other one, by the status: what
  /// a broken server says of the grant must not end a session.
  package func failure(of endpoint: String) -> TokenError {
    let error = OAuthError(object.map { .object($0) })
    let answer = error.map { "answered \(response.status) \($0.code)" } ?? "answered \(response.status)"
    if isTemporary(error) {
      let retryAfter = RetryAfter.of(response.fields).map { min($0, .seconds(30)) }
      return TokenError(
        .unavailable(error), "the \(endpoint) \(answer)", status: response.status, retryAfter: retryAfter)
    }
    guard error != nil || (400..<500).contains(response.status) else {
      return TokenError(.malformed, "the \(endpoint) \(answer)", status: response.status)
    }
    // RFC 6749 section 5.2: the cause is in the client's configuration or registration, whatever the grant.
    let hint = error?.code == "invalid_client" ? ": the issuer does not accept the client's id or credentials" : ""
    return TokenError(.rejected(error), "the \(endpoint) \(answer)\(hint)", status: response.status)
  }

  private func isTemporary(_ error: OAuthError?) -> Bool {
    error.map { OAuthError.temporaryCodes.contains($0.code) } ?? false || TemporaryStatus.includes(response.status)
  }

  /// Whether a member is absent, null or an empty text.
  private static func isMissing(_ value: JSONValue?) -> Bool {
    switch value {
    case nil, .null, .string(""): true
    default: false
    }
  }
}

/// The statuses after which the same request may succeed later (RFC 9110 section 15.5.9, RFC 8470, RFC 6585).
package enum TemporaryStatus {
  /// Whether `status` is one of them.
  package static func includes(_ status: Int) -> Bool { status >= 500 || [408, 425, 429].contains(status) }
}

extension JSONValue {
  /// The number, which some servers send as a text of digits; nil for everything else.
  var lenientNumber: Double? {
    switch self {
    case .integer(let number): return Double(number)
    case .real(let number): return number
    case .string(let text):
      guard (1...18).contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
      return Double(text)
    default: return nil
    }
  }

  /// The text, unless it is empty; nil for everything else.
  var nonEmptyText: String? { stringValue.flatMap { $0.isEmpty ? nil : $0 } }
}
