package import HTTPMessages
import PosternJSON
import PosternSupport

/// A token endpoint's answer, read strictly (RFC 6749 sections 5.1 and 5.2).
package struct TokenResponse: Sendable {
  package static let maxBytes = 256 << 10
  package static let maxTokenBytes = 16 << 10
  /// The life of a token whose answer does not say: short, since nothing is known.
  package static let defaultLifetime: Duration = .seconds(300)
  /// Longer lives count as this, so that a nonsensical number overflows nothing.
  static let maxLifetime: Duration = .seconds(366 * 86_400)

  package let accessToken: String
  package let type: TokenType
  package let lifetime: Duration
  package let scope: String?
  /// A new refresh token; nil means that the one at hand stays good (RFC 6749 section 6).
  package let refreshToken: String?
  package let idToken: String?

  package init(_ response: HTTPResponse) throws(TokenError) {
    guard response.status == 200 else { throw Self.failure(response, of: "token endpoint") }
    func malformed(_ detail: String) -> TokenError {
      TokenError(.malformed, "the token endpoint's answer \(detail)", status: response.status)
    }
    let document = try? JSONParser(maxBytes: Self.maxBytes, maxDepth: 16).parse(response.body)
    guard let object = document?.objectValue else { throw malformed("is no JSON object") }
    guard let token = object["access_token"]?.stringValue else { throw malformed("has no access_token") }
    guard (1...Self.maxTokenBytes).contains(token.utf8.count), token.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
      throw malformed("has an access_token that cannot be sent")
    }
    // RFC 6749 section 7.1: a token of a type that is not understood must not be used.
    guard let type = object["token_type"]?.stringValue.flatMap({ TokenType(named: $0) }) else {
      throw malformed("has a token_type that is neither Bearer nor DPoP")
    }
    self.type = type
    accessToken = token
    guard let lifetime = Self.lifetime(object["expires_in"]) else { throw malformed("has an unusable expires_in") }
    self.lifetime = lifetime
    scope = object["scope"]?.stringValue
    refreshToken = object["refresh_token"]?.stringValue.flatMap { $0.isEmpty ? nil : $0 }
    guard (refreshToken?.utf8.count ?? 0) <= Self.maxTokenBytes else {
      throw malformed("has an oversized refresh_token")
    }
    idToken = object["id_token"]?.stringValue
  }

  /// Seconds as a number or, as some servers send them, as a string of digits; nil when it is neither.
  private static func lifetime(_ value: JSONValue?) -> Duration? {
    let seconds: Double
    switch value {
    case nil, .null: return defaultLifetime
    case .integer(let number): seconds = Double(number)
    case .real(let number): seconds = number
    case .string(let text):
      guard (1...18).contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
        let number = Double(text)
      else { return nil }
      seconds = number
    default: return nil
    }
    guard seconds >= 0 else { return nil }
    return seconds >= 366 * 86_400 ? maxLifetime : .seconds(Int64(seconds))
  }

  /// What an endpoint's refusal says (RFC 6749 section 5.2).
  package static func failure(_ response: HTTPResponse, of endpoint: String) -> TokenError {
    let error = OAuthError(try? JSONParser(maxBytes: Self.maxBytes, maxDepth: 16).parse(response.body))
    let said = error.map { "answered \(response.status) \($0.code)" } ?? "answered \(response.status)"
    switch response.status {
    case 429, 500...:
      let retryAfter = RetryAfter.of(response.fields).map { min($0, .seconds(30)) }
      return TokenError(
        .unavailable(error), "the \(endpoint) \(said)", status: response.status, retryAfter: retryAfter)
    case 400..<500:
      return TokenError(.refused(error), "the \(endpoint) \(said)", status: response.status)
    default:
      return TokenError(.malformed, "the \(endpoint) \(said)", status: response.status)
    }
  }
}
