public import AccessManagement
import HTTPMessages
package import OAuthClient
import PosternJSON
import PosternSupport
import TokenValidation

extension UserSessions {
  /// The verdict on the ID token of an authorization that followed another one: it must be about the same user.
  func verdict(
    onAuthorizedAgain idToken: String, _ live: LiveSession, _ expectations: IDTokenExpectations, _ issuer: SessionIssuer
  ) async -> TokenVerdict? {
    let verdict = try? await verdict(on: idToken, expectations, at: issuer)
    guard case .valid(let claims, _, _, _)? = verdict, let subject = live.contents.subject,
      claims["sub"]?.stringValue?.hasSameBytes(as: subject) != true
    else { return verdict }
    return .invalid(TokenFault(.refreshMismatch, "the login is another user's", claim: "sub"))
  }

  /// What comes of another authorization is nobody's to use until it is clear whose it is.
  func demand(_ verdict: TokenVerdict?) throws(SessionError) {
    switch verdict {
    case .valid: return
    case nil:
      throw SessionError(
        .unreachable(TokenError(.malformed, "the issuer's keys cannot be had")),
        "the ID token of a login cannot be validated")
    case .invalid(let fault):
      guard fault.code != .refreshMismatch else { return }
      throw SessionError(
        .authorizationFailed, "the ID token is not valid: \(fault.message)", upstreamCode: fault.code.rawValue)
    }
  }

  /// The name of the access manager's single sign-on cookie, as far as it is known without asking.
  public func cookieName(of manager: AccessManager) -> String? {
    manager.cookieName ?? accessManagers.knownCookieName(of: manager)
  }

  /// Tells the access manager that the user's single sign-on session is over.
  package func endSSO(
    _ token: String, at issuer: SessionIssuer, timeout: Duration = ProviderClient.timeout, trace: TraceContext?
  ) async -> UpstreamEnd {
    guard let manager = issuer.accessManager else { return .none }
    let body = JSONWriter().write(["tokenId": .string(token)])
    do throws(TokenError) {
      let response = try await accessManagers.send(
        nil, body: body, to: try manager.url("/json\(manager.realmPath)/sessions", query: "_action=logout"),
        token: Secret(token), version: "resource=3.1, protocol=1.0", of: manager, for: issuer.issuer, timeout: timeout,
        trace: trace)
      // 401: it was over already.
      return (200..<300).contains(response.status) || response.status == 401 ? .ended : .failed
    } catch {
      return .failed
    }
  }
}
