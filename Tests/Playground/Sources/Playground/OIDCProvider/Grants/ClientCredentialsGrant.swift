/// `client_credentials` (RFC 6749 section 4.4), with scopes and resource indicators.
struct ClientCredentialsGrant: GrantHandler {
  let issuer: TokenIssuer

  func answer(to request: TokenRequest) throws -> TokenAnswer {
    guard !request.client.isPublic else {
      throw OAuthError(.unauthorizedClient, "a public client has no credentials to present")
    }
    let scopes = try Scopes.granted(request.form["scope"], of: Scopes.withoutUser(of: request.client))
    let audience = issuer.audience(try Targets.requested(request.form))
    return try issuer.answer(
      AccessTokens.Content(
        subject: request.client.id, clientID: request.client.id, audience: audience, scopes: scopes,
        confirmation: request.proofKey)
    ).answer
  }
}
