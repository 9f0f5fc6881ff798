package import OAuthClient
package import PosternSupport
package import TokenValidation

extension PosternEngine {
  /// Removes what its issuer has reported about a token that was revoked.
  package func removeAnswers(about token: Secret<String>, at issuer: Issuer) {
    validators.requests.judge.answers.removeAnswers(about: token, at: issuer)
  }

  /// Decides whether a request that an API has received may pass.
  ///
  /// - Parameters:
  ///   - request: The request, as its client sent it.
  ///   - requirements: What the API requires of it.
  ///   - source: The issuer of its token.
  ///   - scope: The caller, in whose share of the store used proofs are, and the end of the wait for keys, an
  ///     introspection or the store.
  /// - Throws: `RequestValidationError`, where there is no verdict: the API answers 503, without a challenge.
  package func validateRequest(
    _ request: IncomingRequest, requiring requirements: RequestRequirements, from source: TokenSource,
    in scope: CallScope
  ) async throws(RequestValidationError) -> RequestVerdict {
    try await validators.requests.verdict(
      on: request, requiring: requirements, from: source, in: scope)
  }
}
