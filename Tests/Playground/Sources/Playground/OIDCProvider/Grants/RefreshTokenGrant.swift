/// `refresh_token` (RFC 6749 section 6, OpenID Connect Core section 12).
struct RefreshTokenGrant: GrantHandler {
  let families: RefreshFamilies
  let issuer: TokenIssuer
  let statistics: Statistics

  /// Checks the whole request before it uses the token up: after a wrong request the client still has it.
  func answer(to request: TokenRequest) throws -> TokenAnswer {
    guard let presented = families.recognize(try request.required("refresh_token")),
      presented.family.grant.clientID == request.client.id
    else { throw OAuthError(.invalidGrant, "the refresh token is unknown or another client's") }
    statistics.count(\.refreshTokensPresented)
    families.notePresentation(of: presented)
    let grant = presented.family.grant
    if let key = grant.confirmation, key != request.proofKey {
      throw OAuthError(.invalidGrant, "the refresh token is bound to another key")
    }
    let scopes = try Scopes.granted(request.form["scope"], of: grant.scopes)
    let audience = try Targets.narrowed(request.form, within: grant.resources)
    let next = try families.use(presented)
    let tokens = TokenIssuer.UserTokens(
      grant: grant, familyID: presented.family.id, scopes: scopes, audience: audience, refreshToken: next)
    return try issuer.answer(tokens, to: request)
  }
}
