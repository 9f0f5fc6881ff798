/// `POST /oidc/revoke` (RFC 7009). A refresh token takes everything of its grant along (section 2.1).
struct RevocationEndpoint: Endpoint {
  let authentication: ClientAuthentication
  let tokens: AccessTokens
  let families: RefreshFamilies
  let faults: Faults
  let statistics: Statistics

  func reply(to request: Request) async throws -> Reply {
    statistics.count(\.revocationRequests)
    if let reply = try await faults.strike(.revocation)?.generalReply { return reply }
    do throws(OAuthError) {
      let form = try OAuthForm.parse(request)
      let client = try authentication.client(of: request, form: form)
      guard let text = form["token"] else { throw OAuthError(.invalidRequest, "token is missing") }
      // Section 2.2: an invalid token is no error.
      if let token = try? tokens.check(text) {
        guard token.clientID == client.id else { throw OAuthError(.unauthorizedClient, "another client's token") }
        tokens.revoke(token)
      } else if let presented = families.recognize(text) {
        guard presented.family.grant.clientID == client.id else {
          throw OAuthError(.unauthorizedClient, "another client's token")
        }
        families.revoke(presented.family.id, because: "revoked by its client")
      }
      return Reply(headers: OAuthError.noStore)
    } catch {
      return error.reply
    }
  }
}
