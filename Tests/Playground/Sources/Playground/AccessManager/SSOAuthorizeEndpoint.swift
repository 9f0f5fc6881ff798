/// `GET` and `POST /am/oauth2/…/authorize`: the authorization endpoint, for users who are signed on.
///
/// Other users are redirected to the login page. A POST carries the user's consent: `decision=allow`, and as `csrf` the
/// single sign-on token once more; a GET shows the page for it. The query of a POST may have parameters, too.
struct SSOAuthorizeEndpoint: Endpoint {
  let sessions: SSOSessions
  let requests: AuthorizationRequests
  let flow: AuthorizationFlow
  let clientTrees: ClientTreeDesk
  let faults: Faults
  let statistics: Statistics

  func reply(to request: Request) async throws -> Reply {
    statistics.count(\.ssoAuthorizations)
    let fault = try await faults.strike(.ssoAuthorization, only: Fault.Kind.general)
    if let reply = fault?.generalReply { return reply }
    do throws(OAuthError) {
      let form = try request.method == "POST" ? Self.both(request) : Self.query(of: request)
      let destination = try requests.destination(form)
      guard let (token, session) = sessions.session(of: request) else {
        return .redirect(302, to: "/am/XUI/?realm=/\(AccessManager.realm)#login/")
      }
      do throws(OAuthError) {
        let checked = try requests.parse(form, to: destination)
        if let reply = clientTrees.redirect(form, session) { return reply }
        guard request.method == "POST" else { return Self.consentPage }
        guard form["csrf"] == token else { throw OAuthError(.invalidRequest, "csrf is not the user's") }
        guard form["decision"] == "allow" else { throw OAuthError(.accessDenied, "the user does not consent") }
        return flow.complete(checked, session)
      } catch {
        return flow.reject(error, to: destination)
      }
    } catch {
      return error.reply
    }
  }

  private static func both(_ request: Request) throws(OAuthError) -> FormParameters {
    let body = try OAuthForm.parse(request)
    let query = try query(of: request)
    return query.all.reduce(body) { $0.adding($1.name, $1.value) }
  }

  private static func query(of request: Request) throws(OAuthError) -> FormParameters {
    guard let query = request.queryParameters else { throw OAuthError(.invalidRequest, "the query is malformed") }
    return query
  }

  private static var consentPage: Reply {
    Reply(type: "text/html; charset=utf-8", bytes: Array("<!doctype html><title>Consent</title>".utf8))
  }
}
