/// The page where a user logs in.
struct LoginPage {
  /// The purpose of the login.
  let request: AuthorizationRequest
  /// The key of the request.
  let transaction: String
  /// The fault of the previous attempt.
  var problem: String?
  /// The user name of the previous attempt.
  var userName: String?

  /// The page.
  var page: Page {
    Page(
      title: "Sign in",
      content: """
        <p>to continue to <strong>\(Page.escape(request.client.id))</strong></p>
        \(Page.alert(problem))
        <form method="post" action="/oidc/login">
        <input type="hidden" name="transaction" value="\(Page.escape(transaction))">
        \(LoginPage.credentials(userName: userName ?? request.loginHint ?? ""))
        <button type="submit">Sign in</button>
        <button class="plain" type="submit" name="action" value="cancel" formnovalidate>Cancel</button>
        </form>
        """)
  }

  /// The fields for name and password.
  static func credentials(userName: String) -> String {
    Page.field(
      "username", label: "User name", value: userName,
      attributes: #"type="text" autocomplete="username" autocapitalize="none" spellcheck="false" required"#)
      + "\n"
      + Page.field(
        "password", label: "Password", attributes: #"type="password" autocomplete="current-password" required"#)
  }
}
