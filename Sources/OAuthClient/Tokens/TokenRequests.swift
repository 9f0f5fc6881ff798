import HTTPMessages
package import PosternSupport

/// Requests to token endpoints.
package struct TokenRequests: Sendable {
  /// What a token endpoint answered, and when it was asked: lifetimes count from there.
  package struct Answer: Sendable {
    package let response: TokenResponse
    let sent: MonotonicInstant
    /// When it was asked, by the wall clock.
    package let sentAt: Timestamp
    /// What binds the token to its sender.
    package let binding: TokenBinding
  }

  package let provider: ProviderClient

  package init(provider: ProviderClient) {
    self.provider = provider
  }

  /// Asks `issuer` for a token with the members of `form`, and with a proof of `key` for one that is bound to it (RFC
  /// 9449 section 5). An issuer whose tokens are to be bound is asked for no other.
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
