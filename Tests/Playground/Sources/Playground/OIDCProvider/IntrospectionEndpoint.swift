import PosternJSON
import PosternSupport

/// `POST /oidc/introspect` (RFC 7662): any client that authenticates may ask about any token. Signed on request (RFC
/// 9701).
struct IntrospectionEndpoint: Endpoint {
  private static let signedType = "application/token-introspection+jwt"

  let issuer: String
  let authentication: ClientAuthentication
  let tokens: AccessTokens
  let families: RefreshFamilies
  let keys: SigningKeys
  let faults: Faults
  let statistics: Statistics
  let clock: any EngineClock

  func reply(to request: Request) async throws -> Reply {
    statistics.count(\.introspectionRequests)
    do {
      let form = try OAuthForm.parse(request)
      if let reply = try await faults.strike(.introspection)?.generalReply { return reply }
      let client = try authentication.confidentialClient(of: request, form: form)
      guard let text = form["token"] else { throw OAuthError(.invalidRequest, "token is missing") }
      let answer = answer(about: text)
      guard request.accepts(Self.signedType) else { return Reply(json: .object(answer), headers: OAuthError.noStore) }
      return Reply(
        type: Self.signedType, bytes: Array(try signed(answer, for: client).utf8), headers: OAuthError.noStore)
    } catch let error as OAuthError {
      return error.reply
    }
  }

  /// Section 2.2: the answer about an invalid token has nothing else.
  private func answer(about text: String) -> JSONObject {
    if let token = try? tokens.check(text) {
      var answer: JSONObject = ["active": true, "token_type": token.confirmation == nil ? "Bearer" : "DPoP"]
      for claim in token.claims.members { answer[claim.name] = claim.value }
      return answer
    }
    guard let presented = families.recognize(text), families.isGood(presented) else { return ["active": false] }
    let family = presented.family
    var answer: JSONObject = [
      "active": true,
      "iss": .string(issuer),
      "sub": .string(family.grant.user.subject),
      "client_id": .string(family.grant.clientID),
      "scope": .string(family.grant.scopes.joined(separator: " ")),
      "exp": .integer(family.expiresAt.secondsSinceEpoch),
    ]
    answer["cnf"] = family.grant.confirmation.map { ["jkt": .string($0)] }
    return answer
  }

  /// RFC 9701 section 5: the answer as one claim, without `sub` and `exp` next to it, so that it is no token itself.
  private func signed(_ answer: JSONObject, for client: PlaygroundClient) throws -> String {
    try keys.sign(
      [
        "iss": .string(issuer),
        "aud": .string(client.id),
        "iat": .integer(clock.wallNow.secondsSinceEpoch),
        "token_introspection": .object(answer),
      ], type: "token-introspection+jwt")
  }
}
