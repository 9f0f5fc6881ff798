public import PosternKit

/// The code of swift.md about logins at television providers, and of the article about them. A test runs it with a
/// double of Adobe Pass.
public struct Television: Sendable {
  /// The program's one Postern.
  public let postern: Postern
  /// Shows a text to the user.
  public let show: @Sendable (String) -> Void

  /// The examples over `postern`.
  public init(_ postern: Postern, show: @escaping @Sendable (String) -> Void) {
    self.postern = postern
    self.show = show
  }

  /// The MVPD of the device's login; nil when the user has to log in.
  public func provider() async throws(PassError) -> String? {
    let tv = try postern.pass("tv")
    let profiles = try await tv.profiles()
    guard profiles.state == .authenticated else { return nil }
    return profiles.selected
  }

  /// A login by a code that the user enters on a phone; nil when the code expired.
  public func logIn() async throws(PassError) -> String? {
    let tv = try postern.pass("tv")
    let session = try await tv.createSession()
    guard let code = session.code else { return session.mvpd }
    show("Enter \(code) at https://tv.example.com/activate")
    let profiles = try await tv.profiles(.code(code, wait: .seconds(1500)))
    return profiles.state == .authenticated ? profiles.selected : nil
  }

  /// The same login on the phone: the URL that its browser opens.
  public func activate(
    _ code: String, choose: @Sendable ([PassMVPD]) async -> String?
  ) async throws(PassError) -> String? {
    let tv = try postern.pass("tv")
    let phone = PassOptions(isSecondScreen: true)
    let known = try await tv.session(code: code, options: phone)
    show("Log in for the device of type \(known.device?.type ?? "unknown")")
    guard let mvpd = await choose(try await tv.configuration().mvpds) else { return nil }
    let parameters = PassLoginParameters(
      mvpd: mvpd, domainName: "tv.example.com", redirectURL: "https://tv.example.com/done")
    return try await tv.resumeSession(code: code, parameters, options: phone).url
  }

  /// The media token for one playback; nil where there is no permit.
  public func mediaToken(for channel: String) async -> Secret<String>? {
    do throws(PassError) {
      let decisions = try await postern.pass("tv").authorize([channel]).decisions
      for decision in decisions {
        if let token = decision.token { return token.serialized }
        show(decision.error?.message ?? "no permit")
      }
    } catch {
      switch error.next {
      case .login: show("log in again")
      case .chooseMVPD: show("choose your provider again")
      default: show(error.isRetryable ? "try again later" : "not possible: \(error)")
      }
    }
    return nil
  }

  /// The end of the login, with the pages that the browser has to open.
  public func logOut(open: @Sendable (String) async -> Void) async throws(PassError) {
    let logout = try await postern.pass("tv").logout(redirectURL: "https://tv.example.com/done")
    for step in logout.logouts {
      if let url = step.url { await open(url) }
    }
  }
}
