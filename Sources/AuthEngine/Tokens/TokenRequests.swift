import HTTPMessages
import Support

/// Requests to token endpoints.
struct TokenRequests: Sendable {
  /// What a token endpoint answered, and when it was asked: lifetimes count from there.
  struct Answer: Sendable {
    let response: TokenResponse
    let sent: MonotonicInstant
    /// When it was asked, by the wall clock.
    let sentAt: Timestamp
  }

  let provider: ProviderClient

  /// Asks `issuer` for a token with the members of `form`.
  func token(
    _ form: [(name: String, value: String)], at issuer: Issuer, trace: TraceContext?
  ) async throws(TokenError) -> Answer {
    let clock = provider.upstream.clock
    let answer = try await provider.post(
      form, to: .token, of: issuer, maxBytes: TokenResponse.maxBytes, for: .token(issuer.name), trace: trace)
    let age = clock.monotonicNow - answer.sent
    return Answer(
      response: try TokenResponse(answer.response), sent: answer.sent, sentAt: clock.wallNow + (.zero - age))
  }
}
