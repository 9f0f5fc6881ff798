import PosternCrypto
import PosternSupport

/// Where users prove who they are.
struct LoginDesk: Sendable {
  let sessions: ProviderSessions
  let nextLogins: NextLogins
  let statistics: Statistics
  let clock: any EngineClock

  /// The user whose name and password stand in `form`; nil when they are wrong.
  func user(in form: FormParameters) -> PlaygroundUser? {
    statistics.count(\.logins)
    guard let user = form["username"].flatMap(PlaygroundUser.named), let password = form["password"],
      ConstantTime.equals(Array(user.password.utf8), Array(password.utf8))
    else {
      statistics.count(\.loginsRefused)
      return nil
    }
    return user
  }

  /// The session of a login by form. The form may choose `acr`, `amr` and `auth_time`, which the page does not offer:
  /// they are for tests. Nil when they make no sense.
  func session(of user: PlaygroundUser, _ form: FormParameters, asked: [String]) -> ProviderSession? {
    var time: Timestamp?
    if let text = form["auth_time"] {
      guard let seconds = Int64(text), (0...253_402_300_799).contains(seconds) else { return nil }
      time = Timestamp(secondsSinceEpoch: seconds)
    }
    let amr = form["amr"].map { $0.split(separator: " ").map(String.init) }
    return session(NextLogins.Login(user: user, acr: form["acr"], amr: amr, time: time), asked: asked)
  }

  /// The session of the login that a test has announced, if any.
  func announcedSession(asked: [String]) -> ProviderSession? {
    guard let login = nextLogins.take() else { return nil }
    statistics.count(\.logins)
    return session(login, asked: asked)
  }

  /// The session of a login that is carried out at once.
  func session(of login: NextLogins.Login) -> ProviderSession { session(login, asked: []) }

  /// A login gives the first supported `acr` that was asked for, unless it names another.
  private func session(_ login: NextLogins.Login, asked: [String]) -> ProviderSession {
    let usual = asked.first(where: UserAuthentication.supportedACRs.contains) ?? UserAuthentication.supportedACRs[0]
    let acr = login.acr ?? usual
    return ProviderSession(
      user: login.user,
      authentication: UserAuthentication(
        time: login.time ?? clock.wallNow, acr: acr,
        amr: login.amr ?? (acr == "mfa" ? ["pwd", "otp", "mfa"] : ["pwd"]),
        sessionID: RandomText.next()))
  }
}
