import PosternJSON
import PosternSupport

/// Puts token answers together, the same for all grants.
struct TokenIssuer: Sendable {
  let accessTokens: AccessTokens
  let idTokens: IDTokens
  let families: RefreshFamilies
  /// The audience of tokens that were requested without one.
  let defaultAudience: String

  /// The tokens of a user's grant.
  struct UserTokens {
    /// The grant.
    let grant: UserGrant
    /// Its family.
    let familyID: String
    /// The scopes of this answer.
    let scopes: [String]
    /// The audience of this answer.
    let audience: [String]
    /// The nonce of the authorization request.
    var nonce: String?
    /// The refresh token to answer with.
    var refreshToken: String?
  }

  /// The answer with an access token alone, and the token.
  func answer(_ content: AccessTokens.Content) throws -> (answer: TokenAnswer, accessToken: String) {
    let text = try accessTokens.issue(content)
    let json: JSONObject = [
      "access_token": .string(text),
      "token_type": content.confirmation == nil ? "Bearer" : "DPoP",
      "expires_in": .integer(accessTokens.lifetime.wholeMilliseconds / 1000),
      "scope": .string(content.scopes.joined(separator: " ")),
    ]
    return (TokenAnswer(json: json), text)
  }

  /// The answer to a user's client: with an ID token where `openid` is among the scopes.
  func answer(_ tokens: UserTokens, to request: TokenRequest) throws -> TokenAnswer {
    var (answer, accessToken) = try answer(
      AccessTokens.Content(
        subject: tokens.grant.user.subject, clientID: request.client.id, audience: audience(tokens.audience),
        scopes: tokens.scopes, familyID: tokens.familyID, confirmation: request.proofKey,
        authentication: tokens.grant.authentication))
    if tokens.scopes.contains("openid") {
      let context = IDTokens.Context(nonce: tokens.nonce, accessToken: accessToken)
      answer.json["id_token"] = .string(try idTokens.issue(tokens.grant, to: request.client, context))
    }
    if let refreshToken = tokens.refreshToken {
      answer.json["refresh_token"] = .string(refreshToken)
      answer.noteWritten = families.noteAnswer(naming: refreshToken)
    }
    return answer
  }

  /// The first answer of a new grant, with a refresh token if the client can use one.
  func firstAnswer(_ tokens: UserTokens, to request: TokenRequest) throws -> TokenAnswer {
    var tokens = tokens
    // RFC 9449 section 5: a public client's refresh token is bound to its key; a confidential one proves itself anyway.
    if request.client.isPublic, let key = request.proofKey { families.bind(tokens.familyID, to: key) }
    if request.client.grants.contains(.refreshToken) {
      tokens.refreshToken = try families.issueFirst(in: tokens.familyID)
    }
    return try answer(tokens, to: request)
  }

  /// `requested`, or the default audience.
  func audience(_ requested: [String]) -> [String] { requested.isEmpty ? [defaultAudience] : requested }
}
