import PosternJSON

/// `GET` and `POST /oidc/userinfo` (OpenID Connect Core section 5.3): any access token of a user that has the scope
/// `openid`.
struct UserInfoEndpoint: Endpoint {
  let check: BearerTokenCheck
  let faults: Faults
  let statistics: Statistics

  func reply(to request: Request) async throws -> Reply {
    statistics.count(\.userInfoRequests)
    do {
      if let fault = try await faults.strike(.userinfo) {
        if let reply = fault.generalReply { return reply }
        throw BearerChallenge(code: .invalidToken, description: "rejected by a switched fault")
      }
      let token = try check.token(of: request, scope: "openid").token
      guard let user = PlaygroundUser.withSubject(token.subject) else {
        throw BearerChallenge(code: .invalidToken, description: "the token is not one of a user")
      }
      return Reply(
        json: .object(user.claims(for: token.scopes)), headers: OAuthError.noStore + check.dpop.nonceField)
    } catch let challenge as BearerChallenge {
      return challenge.reply
    }
  }
}
