import JSON

/// `POST /oidc/introspect` (RFC 7662): any registered client may ask about any token.
struct IntrospectionEndpoint: Endpoint {
  let authentication: ClientAuthentication
  let tokens: AccessTokens
  let statistics: Statistics

  func reply(to request: Request) async throws -> Reply {
    statistics.count(\.introspectionRequests)
    do throws(OAuthError) {
      let form = try OAuthForm.parse(request)
      _ = try authentication.verify(try authentication.claim(in: request, form: form))
      guard let text = form["token"] else { throw OAuthError(.invalidRequest, "token is missing") }
      return Reply(json: .object(answer(about: text)), headers: OAuthError.noStore)
    } catch {
      return error.reply
    }
  }

  /// Section 2.2: about a token that is not good nothing else is said.
  private func answer(about text: String) -> JSONObject {
    guard let token = try? tokens.check(text) else { return ["active": false] }
    var answer: JSONObject = ["active": true, "token_type": "Bearer"]
    for claim in token.claims.members { answer[claim.name] = claim.value }
    return answer
  }
}
