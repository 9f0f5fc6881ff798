/// `GET` and `POST /oidc/device`: the page where a user approves a device (RFC 8628 section 3.3). It requires the
/// password each time: a link from an attacker must not be enough.
struct DevicePageEndpoint: Endpoint {
  let codes: DeviceCodes
  let desk: LoginDesk

  func reply(to request: Request) async throws -> Reply {
    guard request.method == "POST" else {
      return Reply(page: page(userCode: request.queryParameters?["user_code"] ?? ""))
    }
    guard let form = try? OAuthForm.parse(request), let userCode = form["user_code"] else {
      return Reply(status: 400, page: ErrorPage.page("The form is incomplete."))
    }
    guard codes.waiting(userCode) != nil else {
      return Reply(
        status: 403, page: page(userCode: userCode, problem: "No device waits with this code. Is it still good?"))
    }
    guard let user = desk.user(in: form), let session = desk.session(of: user, form, requested: []) else {
      return Reply(
        status: 403, page: page(userCode: userCode, problem: "The user name or the password is wrong."))
    }
    do throws(OAuthError) {
      if form["action"] == "deny" {
        try codes.deny(userCode)
        return Reply(page: Page(title: "Denied", content: "<p>The device gets nothing. You can close this page.</p>"))
      }
      try codes.approve(userCode, session)
      return Reply(page: Page(title: "Done", content: "<p>The device is connected. You can close this page.</p>"))
    } catch {
      return Reply(status: 403, page: page(userCode: userCode, problem: error.description))
    }
  }

  private func page(userCode: String, problem: String? = nil) -> Page {
    let client = codes.waiting(userCode).map { " for <strong>\(Page.escape($0.client.id))</strong>" } ?? ""
    return Page(
      title: "Connect a device",
      content: """
        <p>Go on only if a device in front of you shows this code\(client).</p>
        \(Page.alert(problem))
        <form method="post" action="/oidc/device">
        \(Page.field(
          "user_code", label: "Code", value: userCode,
          attributes: #"type="text" autocomplete="off" autocapitalize="characters" spellcheck="false" required"#))
        \(LoginPage.credentials(userName: ""))
        <button type="submit">Connect</button>
        <button class="plain" type="submit" name="action" value="deny">Deny</button>
        </form>
        """)
  }
}
