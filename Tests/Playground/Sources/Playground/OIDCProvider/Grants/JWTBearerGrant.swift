import JOSE

/// `urn:ietf:params:oauth:grant-type:jwt-bearer` (RFC 7523 section 2.1): an assertion about a user, or about the client
/// itself.
struct JWTBearerGrant: GrantHandler {
  let assertions: AssertionCheck
  let issuer: TokenIssuer

  func answer(to request: TokenRequest) throws -> TokenAnswer {
    let text = try request.required("assertion")
    let claims: JWTClaims
    do throws(AssertionCheck.Problem) {
      claims = try assertions.claims(of: text, type: "authorization-grant+jwt")
    } catch {
      throw OAuthError(.invalidGrant, error.description)
    }
    let subject = claims.string("sub") ?? ""
    let user = PlaygroundUser.withSubject(subject) ?? PlaygroundUser.named(subject)
    guard user != nil || subject == claims.string("iss") else {
      throw OAuthError(.invalidGrant, "sub is neither a user nor the issuer of the assertion")
    }
    // RFC 7521 section 4.1: no refresh token; the assertion can be presented again as long as it is valid.
    let scopes = try Scopes.granted(request.form["scope"], of: Scopes.withoutUser(of: request.client))
    return try issuer.answer(
      AccessTokens.Content(
        subject: user?.subject ?? subject, clientID: request.client.id,
        audience: issuer.audience(try Targets.requested(request.form)), scopes: scopes, confirmation: request.proofKey)
    ).answer
  }
}
