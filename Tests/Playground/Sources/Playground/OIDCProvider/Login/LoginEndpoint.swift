/// `POST /oidc/login`: the form of the login page.
struct LoginEndpoint: Endpoint {
  private static let failureLimit = 10

  let flow: AuthorizationFlow

  func reply(to request: Request) async throws -> Reply {
    guard let form = try? OAuthForm.parse(request), let transaction = form["transaction"],
      let pending = flow.pending.value(transaction)
    else {
      return Reply(status: 400, page: ErrorPage.page("This sign-in has ended. Start again in the application."))
    }
    if form["action"] == "cancel" {
      _ = flow.pending.take(transaction)
      return flow.reject(OAuthError(.accessDenied, "the user did not want to"), to: pending.request.destination)
    }
    guard let user = flow.desk.user(in: form),
      let session = flow.desk.session(of: user, form, requested: pending.request.acrValues)
    else { return rejected(pending, transaction, userName: form["username"]) }
    // Of two posts of the same page one goes on.
    guard flow.pending.take(transaction) != nil else {
      return Reply(status: 400, page: ErrorPage.page("This sign-in has ended. Start again in the application."))
    }
    return flow.begin(pending.request, session)
  }

  /// The page again; after many failures the client hears of it.
  private func rejected(_ pending: AuthorizationFlow.Pending, _ transaction: String, userName: String?) -> Reply {
    let failures = flow.pending.update(transaction) { pending -> Int in
      pending.failures += 1
      return pending.failures
    }
    guard let failures, failures < Self.failureLimit else {
      _ = flow.pending.take(transaction)
      return flow.reject(OAuthError(.accessDenied, "too many wrong passwords"), to: pending.request.destination)
    }
    let problem = "The user name or the password is wrong."
    let page = LoginPage(
      request: pending.request, transaction: transaction, problem: problem, userName: userName)
    return Reply(status: 403, page: page.page)
  }
}
