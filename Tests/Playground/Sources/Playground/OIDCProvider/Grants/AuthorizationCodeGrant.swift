import PosternCrypto
import PosternSupport

/// `authorization_code` (RFC 6749 section 4.1.3, RFC 7636 section 4.6, OpenID Connect Core section 3.1.3).
struct AuthorizationCodeGrant: GrantHandler {
  let codes: AuthorizationCodes
  let issuer: TokenIssuer

  func answer(to request: TokenRequest) throws -> TokenAnswer {
    let code = try codes.redeem(try request.required("code"), by: request.client)
    guard request.form["redirect_uri"] == code.redirectURI else {
      throw OAuthError(.invalidGrant, "redirect_uri is not the one of the authorization request")
    }
    try Self.check(request.form["code_verifier"], against: code.challenge)
    if let key = code.proofKey, key != request.proofKey {
      throw OAuthError(.invalidGrant, "the proof is not made with the key that dpop_jkt names")
    }
    let tokens = TokenIssuer.UserTokens(
      grant: code.grant, familyID: code.familyID, scopes: code.grant.scopes,
      audience: try Targets.narrowed(request.form, within: code.grant.resources), nonce: code.nonce)
    return try issuer.firstAnswer(tokens, to: request)
  }

  /// RFC 9700 section 2.1.1: a verifier without a challenge is rejected too, or leaving the challenge out would switch
  /// PKCE off.
  private static func check(_ verifier: String?, against challenge: String?) throws(OAuthError) {
    guard verifier != nil || challenge != nil else { return }
    guard let challenge else { throw OAuthError(.invalidGrant, "code_verifier without a code_challenge before it") }
    guard let verifier, PKCE.isVerifier(verifier) else {
      throw OAuthError(.invalidGrant, "code_verifier is missing or not 43 to 128 unreserved characters")
    }
    guard PKCE.challenge(of: verifier) == challenge else {
      throw OAuthError(.invalidGrant, "code_verifier does not belong to code_challenge")
    }
  }
}
