import JOSE
import PosternJSON

/// `urn:ietf:params:oauth:grant-type:token-exchange` (RFC 8693): an access token for another audience or with fewer
/// scopes, in the name of the subject, or also of an actor.
struct TokenExchangeGrant: GrantHandler {
  private static let accessTokenType = "urn:ietf:params:oauth:token-type:access_token"
  private static let jwtType = "urn:ietf:params:oauth:token-type:jwt"
  private static let idTokenType = "urn:ietf:params:oauth:token-type:id_token"
  private static let refreshTokenType = "urn:ietf:params:oauth:token-type:refresh_token"

  let accessTokens: AccessTokens
  let idTokens: IDTokens
  let families: RefreshFamilies
  let assertions: AssertionCheck
  let issuer: TokenIssuer

  /// The subject of a token, and the scopes it allows.
  private struct Party {
    let subject: String
    let scopes: [String]
    var familyID: String?
    var authentication: UserAuthentication?
    var token: AccessToken?
  }

  func answer(to request: TokenRequest) throws -> TokenAnswer {
    let form = request.form
    let requested = form["requested_token_type"] ?? Self.accessTokenType
    guard [Self.accessTokenType, Self.jwtType].contains(requested) else {
      throw OAuthError(.invalidRequest, "requested_token_type: only access tokens, which are JWTs, are issued")
    }
    let subject = try party(
      try request.required("subject_token"), type: try request.required("subject_token_type"), request.client)
    let actor = try actor(of: request)
    let scopes = try Scopes.granted(form["scope"], of: subject.scopes.filter(request.client.scopes.contains))
    var answer = try issuer.answer(
      AccessTokens.Content(
        subject: subject.subject, clientID: request.client.id, audience: issuer.audience(try Targets.requested(form)),
        scopes: scopes, familyID: subject.familyID, confirmation: request.proofKey,
        authentication: subject.authentication, actor: actor, earlierActor: subject.token?.actor)
    ).answer
    answer.json["issued_token_type"] = .string(requested)
    return answer
  }

  /// `sub` of the actor; `actor_token_type` is there exactly when `actor_token` is (section 2.1).
  private func actor(of request: TokenRequest) throws -> String? {
    switch (request.form["actor_token"], request.form["actor_token_type"]) {
    case (nil, nil): nil
    case (let token?, let type?): try party(token, type: type, request.client).subject
    default: throw OAuthError(.invalidRequest, "actor_token and actor_token_type belong together")
    }
  }

  /// A JWT that the client itself has signed about one of its users, as in RFC 7523 section 3: no scopes of users come
  /// of it.
  private func subjectOfAssertion(_ text: String, _ client: PlaygroundClient) throws(OAuthError) -> Party {
    do throws(AssertionCheck.Problem) {
      let subject = try assertions.claims(of: text, type: "authorization-grant+jwt").string("sub") ?? ""
      guard let user = PlaygroundUser.withSubject(subject) else {
        throw AssertionCheck.Problem(description: "sub is not a user")
      }
      return Party(subject: user.subject, scopes: Scopes.withoutUser(of: client))
    } catch {
      throw OAuthError(.invalidRequest, error.description)
    }
  }

  /// Section 2.2.2: whatever is wrong with a token is an invalid request.
  private func party(_ text: String, type: String, _ client: PlaygroundClient) throws(OAuthError) -> Party {
    switch type {
    case Self.jwtType where AssertionCheck.claimedIssuer(of: text) == client.id:
      return try subjectOfAssertion(text, client)
    case Self.accessTokenType, Self.jwtType:
      do throws(AccessTokens.Rejection) {
        let token = try accessTokens.check(text)
        return Party(
          subject: token.subject, scopes: token.scopes, familyID: token.familyID,
          authentication: token.authentication, token: token)
      } catch {
        throw OAuthError(.invalidRequest, error.rawValue)
      }
    case Self.idTokenType:
      guard let claims = idTokens.check(text), let subject = claims["sub"]?.stringValue else {
        throw OAuthError(.invalidRequest, "the ID token is not one of this issuer's, or has expired")
      }
      return Party(
        subject: subject, scopes: client.scopes, authentication: UserAuthentication(claims: claims))
    case Self.refreshTokenType:
      guard let presented = families.recognize(text), families.isGood(presented),
        presented.family.grant.clientID == client.id
      else { throw OAuthError(.invalidRequest, "the refresh token is not a living one of this client") }
      let grant = presented.family.grant
      return Party(
        subject: grant.user.subject, scopes: grant.scopes, familyID: presented.family.id,
        authentication: grant.authentication)
    default:
      throw OAuthError(.invalidRequest, "the type of a token is not a supported one")
    }
  }
}
