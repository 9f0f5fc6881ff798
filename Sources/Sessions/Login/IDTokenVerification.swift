import OAuthClient
import PosternJSON
import PosternSupport
import TokenValidation

/// Validates ID tokens that come with a session's tokens.
struct IDTokenVerification: Sendable {
  let validator: IDTokenValidator

  /// The claims of an ID token that is valid.
  func claims(
    of idToken: String, _ expectations: IDTokenExpectations, at issuer: SessionIssuer, in call: CallScope
  ) async throws(SessionError) -> JSONObject {
    switch try await verdict(on: idToken, expectations, at: issuer, in: call) {
    case .valid(let claims, _, _, _): return claims
    case .invalid(let fault): throw Self.invalid(fault)
    }
  }

  /// The verdict on an ID token. An error means that the issuer's keys are out of reach.
  func verdict(
    on idToken: String, _ expectations: IDTokenExpectations, at issuer: SessionIssuer, in call: CallScope
  ) async throws(SessionError) -> TokenVerdict {
    do throws(KeySetError) {
      return try await validator.validate(
        idToken, expecting: expectations, configuration: issuer.tokens, keys: issuer.keys, in: call.unbounded.untraced)
    } catch {
      throw SessionError(error)
    }
  }

  /// The verdict on the ID token that came with a refresh: whether it continues the one before (OpenID Connect Core
  /// section 12.2). Nil when there are no keys to validate it with.
  func verdict(
    onRefreshed idToken: String, _ token: RefreshedToken, of live: LiveSession, at issuer: SessionIssuer,
    in call: CallScope
  ) async -> TokenVerdict? {
    if let expectations = token.expectations {
      return await verdict(onSecondLogin: idToken, of: live, expectations, at: issuer, in: call)
    }
    let flow: TokenFlow = live.contents.user.idToken.map { .refresh(previous: $0) } ?? .code
    var expectations = IDTokenExpectations(
      clientID: issuer.issuer.clientID, accessToken: Secret(token.answer.response.accessToken), flow: flow)
    // It may have the login's, which is not known any more.
    expectations.rejectsUnexpectedNonce = false
    return try? await verdict(on: idToken, expectations, at: issuer, in: call)
  }

  /// The verdict on the ID token of an authorization that followed another one: it must be about the same user.
  func verdict(
    onSecondLogin idToken: String, of live: LiveSession, _ expectations: IDTokenExpectations, at issuer: SessionIssuer,
    in call: CallScope
  ) async -> TokenVerdict? {
    let verdict = try? await verdict(on: idToken, expectations, at: issuer, in: call)
    guard case .valid(let claims, _, _, _)? = verdict, !live.contents.user.isSubject(of: claims) else { return verdict }
    return .invalid(TokenFault(.refreshMismatch, "the login is another user's", claim: "sub"))
  }

  /// Throws unless the ID token of a second authorization is valid: its tokens are not used until their user is known.
  /// Another user's is left to the caller.
  static func require(_ verdict: TokenVerdict?) throws(SessionError) {
    switch verdict {
    case .valid: return
    case nil:
      throw SessionError(
        .unreachable(TokenError(.malformed, "the issuer's keys cannot be had")),
        "the ID token of a login cannot be validated", keysRetryable: true)
    case .invalid(let fault):
      guard fault.code != .refreshMismatch else { return }
      throw invalid(fault)
    }
  }

  /// The tokens of a session belong to another user than the login.
  static let otherUser = "refresh_mismatch"

  private static func invalid(_ fault: TokenFault) -> SessionError {
    SessionError(
      .authorizationFailed, "the ID token is not valid: \(fault.message)", upstreamCode: fault.code.rawValue)
  }
}
