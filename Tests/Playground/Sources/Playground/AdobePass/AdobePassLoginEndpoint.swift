/// E5, `GET /adobe/api/v2/authenticate/{serviceProvider}/{code}`: the browser goes on to the MVPD's page. Errors are
/// pages, too.
struct AdobePassAuthenticateEndpoint: Endpoint {
  let gate: AdobePassGate
  let service: AdobePassService

  func reply(to request: Request) async throws -> Reply {
    if let rejection = gate.rejection(of: request, as: .authenticate) { return rejection }
    if let answer = gate.answers.take(.authenticate) {
      let reply = try await gate.answers.replyInstead(answer, gate.settings.values)
      if let reply { return answer.error.map { Reply(status: $0.status, page: ErrorPage.page($0.code)) } ?? reply }
    }
    do throws(AdobePassError) {
      let session = try service.sessions.session(
        request.captures["code"] ?? "", of: request.captures["serviceProvider"] ?? "", at: service.now)
      guard session.parameters.redirectURL != nil else { throw AdobePassError("invalid_authentication_session") }
      return .redirect(302, to: "/adobe/mvpd/login?session=\(session.id)")
    } catch {
      return Reply(status: error.status, page: ErrorPage.page(error.code))
    }
  }
}

/// `GET /adobe/mvpd/login` shows the MVPD's login page, `POST` takes its form and goes back to the session's
/// `redirectUrl`, with nothing added, as nothing is published about that.
struct AdobePassLoginEndpoint: Endpoint {
  let service: AdobePassService
  let desk: LoginDesk

  func reply(to request: Request) async throws -> Reply {
    let form = request.method == "POST" ? try? OAuthForm.parse(request) : request.queryParameters
    guard let form, let id = form["session"], let session = service.sessions.session(id: id, at: service.now),
      let destination = session.parameters.redirectURL
    else { return Reply(status: 400, page: ErrorPage.page("This sign-in has ended. Start again in the application.")) }
    guard request.method == "POST" else { return Reply(page: Self.page(session, form)) }
    if form["action"] == "cancel" { return .redirect(303, to: destination) }
    guard let mvpd = session.parameters.mvpd ?? form["mvpd"], (try? AdobePassMVPD.named(mvpd))?.trial == nil else {
      return Reply(status: 403, page: Self.page(session, form, problem: "There is no such provider."))
    }
    guard let user = desk.user(in: form) else {
      return Reply(status: 403, page: Self.page(session, form, problem: "The user name or the password is wrong."))
    }
    if session.parameters.mvpd == nil {
      var chosen = session.parameters
      chosen.mvpd = mvpd
      service.sessions.complete(session.code, with: chosen)
    }
    service.logIn(user, in: session, at: mvpd)
    return .redirect(303, to: destination)
  }

  private static func page(_ session: AdobePassSession, _ form: FormParameters, problem: String? = nil) -> Page {
    let known = session.parameters.mvpd
    let chosen = known == nil ? Page.field("mvpd", label: "Provider", attributes: #"type="text" required"#) : ""
    return Page(
      title: "Sign in",
      content: """
        <p>with <strong>\(Page.escape(known ?? "your TV provider"))</strong></p>
        \(Page.alert(problem))
        <form method="post" action="/adobe/mvpd/login">
        <input type="hidden" name="session" value="\(Page.escape(session.id))">
        \(chosen)
        \(LoginPage.credentials(userName: form["username"] ?? ""))
        <button type="submit">Sign in</button>
        <button class="plain" type="submit" name="action" value="cancel" formnovalidate>Cancel</button>
        </form>
        """)
  }
}

/// `GET /adobe/adobe-services/logout`: the MVPD's logout, which goes back to `redirect_url`.
struct AdobePassLogoutPageEndpoint: Endpoint {
  func reply(to request: Request) async throws -> Reply {
    guard let destination = request.queryParameters?["redirect_url"], AdobePassParameters.isAbsolute(destination)
    else { return Reply(page: Page(title: "Signed out", content: "<p>You can close this page.</p>")) }
    return .redirect(302, to: destination)
  }
}
