package import HTTPMessages
import PosternJSON
package import PosternSupport

/// A token endpoint's answer, read strictly (RFC 6749 sections 5.1 and 5.2).
package struct TokenResponse: Sendable {
  package static let maxBytes = 256 << 10
  package static let maxTokenBytes = 16 << 10
  /// The lifetime of a token whose answer has none: short, since nothing is known.
  package static let defaultLifetime: Duration = .seconds(300)
  /// The maximum lifetime, so that a nonsensical number overflows nothing.
  static let maxLifetime: Duration = .seconds(366 * 86_400)

  package let accessToken: String
  package let type: TokenType
  package let lifetime: Duration
  package let scope: String?
  /// A new refresh token; nil means that the current one remains valid (RFC 6749 section 6).
  package let refreshToken: String?
  package let idToken: String?
  /// The type of the token by its identifier, which answers to exchanges have (RFC 8693 section 2.2.1).
  let issuedType: String?

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
    issuedType = object["issued_token_type"]?.stringValue
  }

  /// Reads seconds as a number or, as some servers send them, as a string of digits; nil when it is neither.
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

  /// Returns the error in an endpoint's rejection (RFC 6749 section 5.2).
  package static func failure(_ response: HTTPResponse, of endpoint: String) -> TokenError {
    let error = OAuthError(try? JSONParser(maxBytes: Self.maxBytes, maxDepth: 16).parse(response.body))
    let answer = error.map { "answered \(response.status) \($0.code)" } ?? "answered \(response.status)"
    switch response.status {
    case 429, 500...:
      let retryAfter = RetryAfter.of(response.fields).map { min($0, .seconds(30)) }
      return TokenError(
        .unavailable(error), "the \(endpoint) \(answer)", status: response.status, retryAfter: retryAfter)
    case 400..<500:
      // RFC 6749 section 5.2: the cause is in the client's configuration or registration, whatever the grant.
      let hint = error?.code == "invalid_client" ? ": the issuer does not accept the client's id or credentials" : ""
      return TokenError(.rejected(error), "the \(endpoint) \(answer)\(hint)", status: response.status)
    default:
      return TokenError(.malformed, "the \(endpoint) \(answer)", status: response.status)
    }
  }
}

/// Sends requests to token endpoints.
package struct TokenRequests: Sendable {
  /// A token endpoint's answer, with the time of its request, from which lifetimes count.
  package struct Answer: Sendable {
    package let response: TokenResponse
    let sent: MonotonicInstant
    /// The time of the request by the wall clock.
    package let sentAt: Timestamp
    /// The binding of the token to its sender.
    package let binding: TokenBinding
  }

  package let provider: ProviderClient

  package init(provider: ProviderClient) {
    self.provider = provider
  }

  /// Requests a token from `issuer` with the members of `form`, and with a proof of `key` for a token bound to it (RFC
  /// 9449 section 5). An issuer with bound tokens gets no request without a key.
  package func token(
    _ form: [(name: String, value: String)], at issuer: Issuer, key: DPoPKey?, trace: TraceContext?
  ) async throws(TokenError) -> Answer {
    guard key != nil || !issuer.usesDPoP else {
      throw TokenError(.notPossible, "the issuer's tokens are to be bound to a key, and there is none")
    }
    let clock = provider.upstream.clock
    let answer = try await provider.post(
      form, to: .token, of: issuer, maxBytes: TokenResponse.maxBytes, for: .token(issuer.name), key: key, trace: trace)
    let age = clock.monotonicNow - answer.sent
    let response = try TokenResponse(answer.response)
    return Answer(
      response: response, sent: answer.sent, sentAt: clock.wallNow + (.zero - age),
      binding: try Self.binding(response.type, key))
  }

  private static func binding(_ type: TokenType, _ key: DPoPKey?) throws(TokenError) -> TokenBinding {
    switch (type, key) {
    case (.bearer, nil): return .none
    case (.bearer, _?): return .declined
    case (.dpop, let key?): return .key(key)
    case (.dpop, nil):
      throw TokenError(
        .malformed, "the token endpoint gave a token of type DPoP to a request without a proof", status: 200)
    }
  }
}
