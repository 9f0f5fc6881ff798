import PosternJSON

/// `GET` and `POST /oidc/logout` (OpenID Connect RP-Initiated Logout 1.0).
struct LogoutEndpoint: Endpoint {
  let clients: ClientDirectory
  let idTokens: IDTokens
  let sessions: ProviderSessions
  let families: RefreshFamilies
  let faults: Faults
  let statistics: Statistics

  /// A validated request.
  private struct LogoutRequest {
    /// `sid` of the ID token.
    let hintedSession: String?
    /// Where to go afterwards.
    let destination: String?
    /// Comes back there.
    let state: String?
  }

  func reply(to request: Request) async throws -> Reply {
    statistics.count(\.logoutRequests)
    if let reply = try await faults.strike(.logout)?.generalReply { return reply }
    let requested: LogoutRequest
    let form: FormParameters
    do throws(OAuthError) {
      form = try Self.parameters(of: request)
      requested = try check(form)
    } catch {
      return Reply(status: 400, page: ErrorPage.page("\(error.code.rawValue): \(error.description)"))
    }
    let current = sessions.session(of: request)?.authentication.sessionID
    // Section 2: without a hint about who logs out, or with one about another user, the user has to confirm.
    if let current, requested.hintedSession != current, form["session"] != current {
      return Reply(page: Self.question(about: current, form))
    }
    for session in [requested.hintedSession, current].compactMap({ $0 }) { end(session) }
    guard let destination = requested.destination else {
      return Reply(page: Page(title: "Signed out", content: "<p>You can close this page.</p>"))
    }
    guard let state = requested.state else { return .redirect(303, to: destination) }
    return .redirect(303, to: RedirectURI.adding([("state", state)], to: destination, asFragment: false))
  }

  private static func parameters(of request: Request) throws(OAuthError) -> FormParameters {
    if request.method == "POST" { return try OAuthForm.parse(request) }
    guard let query = request.queryParameters, !query.repeats(except: []) else {
      throw OAuthError(.invalidRequest, "the query is malformed, or a parameter occurs more than once")
    }
    return query
  }

  private func check(_ form: FormParameters) throws(OAuthError) -> LogoutRequest {
    var client = form["client_id"]
    var hintedSession: String?
    if let hint = form["id_token_hint"] {
      guard let claims = idTokens.check(hint, mayHaveExpired: true) else {
        throw OAuthError(.invalidRequest, "id_token_hint is not an ID token of this issuer")
      }
      let audience = claims["aud"]?.arrayValue?.compactMap(\.stringValue) ?? [claims["aud"]?.stringValue ?? ""]
      guard client.map(audience.contains) ?? true else {
        throw OAuthError(.invalidRequest, "client_id is not the client of id_token_hint")
      }
      client = client ?? claims["azp"]?.stringValue ?? audience.first
      hintedSession = claims["sid"]?.stringValue
    }
    guard let destination = form["post_logout_redirect_uri"] else {
      return LogoutRequest(hintedSession: hintedSession, destination: nil, state: nil)
    }
    guard let registered = client.flatMap({ clients[$0] })?.postLogoutRedirectURIs,
      RedirectURI.isRegistered(destination, among: registered)
    else { throw OAuthError(.invalidRequest, "post_logout_redirect_uri is not registered for the client") }
    return LogoutRequest(hintedSession: hintedSession, destination: destination, state: form["state"])
  }

  /// Ends a session and what was granted in it, except what was to outlive it.
  private func end(_ sessionID: String) {
    sessions.end { $0.authentication.sessionID == sessionID }
    families.revoke(because: "logged out") { $0.grant.authentication.sessionID == sessionID && !$0.grant.isOffline }
  }

  /// Shows the page to confirm, and keeps the client's request: it is in the page's form.
  private static func question(about session: String, _ form: FormParameters) -> Page {
    let kept = ["id_token_hint", "client_id", "post_logout_redirect_uri", "state"].compactMap { name in
      form[name].map { "<input type=\"hidden\" name=\"\(name)\" value=\"\(Page.escape($0))\">\n" }
    }
    return Page(
      title: "Sign out?",
      content: """
        <form method="post" action="/oidc/logout">
        \(kept.joined())<input type="hidden" name="session" value="\(Page.escape(session))">
        <button type="submit">Sign out</button>
        </form>
        """)
  }
}
