/// `POST /oidc/revoke` (RFC 7009).
struct RevocationEndpoint: Endpoint {
  let authentication: ClientAuthentication
  let tokens: AccessTokens
  let statistics: Statistics

  func reply(to request: Request) async throws -> Reply {
    statistics.count(\.revocationRequests)
    do throws(OAuthError) {
      let form = try OAuthForm.parse(request)
      let client = try authentication.verify(try authentication.claim(in: request, form: form))
      guard let text = form["token"] else { throw OAuthError(.invalidRequest, "token is missing") }
      // Section 2.2: an invalid token is no error.
      if let token = try? tokens.check(text) {
        guard token.clientID == client.id else { throw OAuthError(.unauthorizedClient, "another client's token") }
        tokens.revoke(token)
      }
      return Reply(headers: OAuthError.noStore)
    } catch {
      return error.reply
    }
  }
}
