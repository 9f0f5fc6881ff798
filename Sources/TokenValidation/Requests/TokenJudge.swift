package import OAuthClient
package import PosternJSON
package import PosternSupport

/// An issuer of access tokens, as its configuration describes it.
package struct TokenSource: Sendable {
  /// The issuer, for the introspection of opaque tokens; nil: it is known by its keys only, and has none.
  package var issuer: Issuer?
  /// The rules for its tokens.
  package var tokens: IDTokenConfiguration
  /// Its keys.
  package var keys: any KeySource
  /// Whether tokens in the format of Microsoft Entra ID are accepted, too.
  package var acceptsEntra = false
  /// Whether its JWTs are introspected, too: it may have revoked them.
  package var introspectsJWTs = false
  /// How long its answers about opaque tokens are kept.
  package var answerLife = Duration.zero
  /// The rules for proofs that come with its tokens.
  package var proofs = ProofRules()

  package init(issuer: Issuer?, tokens: IDTokenConfiguration, keys: any KeySource) {
    self.issuer = issuer
    self.tokens = tokens
    self.keys = keys
  }
}

/// Why there are no claims of a token.
package enum TokenJudgeError: Error, Sendable {
  /// It is not valid, with the first violation.
  case invalid(TokenFault)
  /// There are no keys to judge it with.
  case undecided(KeySetError)
  /// The issuer could not report whether it is active.
  case notIntrospected(IntrospectionError)
}

/// A genuine token.
package struct JudgedToken: Sendable {
  package let claims: JSONObject
  /// Whether the claims are the members of an answer of the issuer.
  let isOpaque: Bool
  package let isCached: Bool
}

/// Finds out whether access tokens are genuine: a JWT by the keys of its issuer, which sees nothing of it unless the
/// configuration has JWTs introspected, too; any other token by the issuer's own word, where it can be had.
package struct TokenJudge: Sendable {
  private let validator: AccessTokenValidator
  package let answers: IntrospectionAnswers

  package init(validator: AccessTokenValidator, answers: IntrospectionAnswers) {
    self.validator = validator
    self.answers = answers
  }

  /// Returns the claims of a token that meets the expectations for its kind.
  package func judge(
    _ token: Secret<String>, from source: TokenSource, expecting expectations: AccessTokenExpectations,
    orOpaque opaque: IntrospectionExpectations, in scope: CallScope = CallScope()
  ) async throws(TokenJudgeError) -> JudgedToken {
    let text = token.reveal()
    if !text.isEmpty, !Self.looksLikeJWT(text), let issuer = source.issuer, !issuer.clientID.isEmpty,
      let judged = try await introspected(token, issuer, source, opaque, scope)
    {
      return judged
    }
    let verified = try await verified(text, source, expectations, scope)
    guard source.introspectsJWTs, let issuer = source.issuer else { return verified }
    // The token's own claims are judged by `expectations`.
    let anyone = IntrospectionExpectations()
    guard let answer = try await introspected(token, issuer, source, anyone, scope) else {
      throw .notIntrospected(.unanswered(TokenError(.notPossible, "the issuer has no introspection endpoint")))
    }
    var claims = verified.claims
    for member in answer.claims.members where claims[member.name] == nil { claims[member.name] = member.value }
    return JudgedToken(claims: claims, isOpaque: false, isCached: answer.isCached)
  }

  /// Whether `text` has the parts of a signed or an encrypted JWT: it is judged by keys, and no issuer sees it.
  private static func looksLikeJWT(_ text: String) -> Bool {
    let dots = text.utf8.count { $0 == UInt8(ascii: ".") }
    return text.utf8.starts(with: "ey".utf8) && (dots == 2 || dots == 4)
  }

  private func verified(
    _ token: String, _ source: TokenSource, _ expectations: AccessTokenExpectations, _ scope: CallScope
  ) async throws(TokenJudgeError) -> JudgedToken {
    func judged(by format: AccessTokenExpectations.Format?) async throws(TokenJudgeError) -> TokenVerdict {
      var expectations = expectations
      expectations.format = format
      do throws(KeySetError) {
        return try await validator.validate(
          token, expecting: expectations, configuration: source.tokens, keys: source.keys, in: scope)
      } catch {
        throw .undecided(error)
      }
    }
    var verdict = try await judged(by: source.acceptsEntra ? .rfc9068 : expectations.format)
    // Entra's own tokens are of type JWT; one that states RFC 9068's type is judged by RFC 9068.
    if source.acceptsEntra, verdict.fault?.code == .wrongTokenType { verdict = try await judged(by: .entraUser) }
    switch verdict {
    case .valid(let claims, _, _, let isCached):
      return JudgedToken(claims: claims, isOpaque: false, isCached: isCached)
    case .invalid(let fault): throw .invalid(fault)
    }
  }

  /// Nil where the issuer has no introspection endpoint.
  private func introspected(
    _ token: Secret<String>, _ issuer: Issuer, _ source: TokenSource, _ expectations: IntrospectionExpectations,
    _ scope: CallScope
  ) async throws(TokenJudgeError) -> JudgedToken? {
    let (verdict, isCached): (IntrospectionVerdict, Bool)
    do throws(IntrospectionError) {
      (verdict, isCached) = try await answers.verdict(
        on: token, issuer: issuer, expecting: expectations, configuration: source.tokens, keys: source.keys,
        keepingFor: source.answerLife, in: scope)
    } catch {
      if case .unanswered(let cause) = error, case .notPossible = cause.kind { return nil }
      throw .notIntrospected(error)
    }
    switch verdict {
    case .valid(let claims): return JudgedToken(claims: claims, isOpaque: true, isCached: isCached)
    case .invalid(let fault): throw .invalid(fault)
    }
  }
}
