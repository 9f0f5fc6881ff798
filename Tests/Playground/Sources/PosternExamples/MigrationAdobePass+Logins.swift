import PosternKit

/// The code of proto-docs/migration/adobe-pass.md about logins, playback and logout; a test compares the page with it.
struct MigrationAdobePassLogins {
  let postern: Postern
  /// Shows the list of television providers; nil when the user goes back.
  let choose: @Sendable ([PassMVPD]) async -> String?
  /// Opens a page in a browser; returns when the browser has come back to the redirect URL.
  let open: @Sendable (_ url: String) async -> Void
  let print: @Sendable (String) -> Void

  func checkAuthentication() async throws {
    let profiles = try await postern.pass("tv").profiles()
    print(profiles.state == .authenticated ? "logged in" : "not logged in")
  }

  func getAuthentication() async throws {
    let tv = try postern.pass("tv")
    let mvpds = try await tv.configuration().mvpds
    guard let mvpd = await choose(mvpds) else { return }
    let parameters = PassLoginParameters(
      mvpd: mvpd, domainName: "tv.example.com", redirectURL: "https://tv.example.com/done")
    let session = try await tv.createSession(parameters)
    if let url = session.url, let code = session.code {
      await open(url)
      let profiles = try await tv.profiles(.code(code, wait: .seconds(60)))
      print(profiles.state == .authenticated ? "logged in" : "not logged in")
    }
  }

  func checkAuthorization(_ resource: String) async throws {
    for decision in try await postern.pass("tv").authorize([resource]).decisions {
      if let token = decision.token {
        play(token.serialized.reveal(), decision.id)
      } else if let error = decision.error {
        print("\(error.code): \(error.message)")
      }
    }
  }

  func getMetadata() async throws {
    let profiles = try await postern.pass("tv").profiles()
    let profile = profiles.profiles.first { $0.mvpd == profiles.selected }
    if let rating = profile?.attributes["maxRating"]?["value"]?["MPAA"]?.stringValue { print(rating) }
    if let end = profile?.expiresAt { print("logged in until \(end)") }
  }

  func freePreview() async throws {
    let trial = try await postern.pass("tv").authorize(["news"], mvpd: "TempPass_Basic")
    if let token = trial.decisions.first?.token { play(token.serialized.reveal(), "news") }
  }

  func logout() async throws {
    let logout = try await postern.pass("tv").logout(redirectURL: "https://tv.example.com/done")
    for step in logout.logouts {
      if let url = step.url { await open(url) }
    }
  }

  private func play(_ token: String, _ resource: String) { print("play \(resource) with \(token)") }
}
