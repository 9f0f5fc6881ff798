import PosternCrypto
import PosternSupport

/// Where users prove who they are.
struct LoginDesk: Sendable {
  let sessions: ProviderSessions
  let nextLogins: NextLogins
  let statistics: Statistics
  let clock: any EngineClock

  /// The user with the name and password in `form`; nil when they are wrong.
  func user(in form: FormParameters) -> PlaygroundUser? {
    statistics.count(\.logins)
    guard let user = form["username"].flatMap(PlaygroundUser.named), let password = form["password"],
      ConstantTime.equals(Array(user.password.utf8), Array(password.utf8))
    else {
      statistics.count(\.loginsRejected)
      return nil
    }
    return user
  }

  /// The session of a login by form. The form may choose `acr`, `amr` and `auth_time`, which the page does not offer:
  /// they are for tests. Nil when they make no sense.
  func session(of user: PlaygroundUser, _ form: FormParameters, requested: [String]) -> ProviderSession? {
    var time: Timestamp?
    if let text = form["auth_time"] {
      guard let seconds = Int64(text), (0...253_402_300_799).contains(seconds) else { return nil }
      time = Timestamp(secondsSinceEpoch: seconds)
    }
    let amr = form["amr"].map { $0.split(separator: " ").map(String.init) }
    return session(NextLogins.Login(user: user, acr: form["acr"], amr: amr, time: time), requested: requested)
  }

  /// The session of the login that a test has announced, if any.
  func announcedSession(requested: [String]) -> ProviderSession? {
    guard let login = nextLogins.take() else { return nil }
    statistics.count(\.logins)
    return session(login, requested: requested)
  }

  /// The session of a login that is carried out at once.
  func session(of login: NextLogins.Login) -> ProviderSession { session(login, requested: []) }

  /// A login gives the first supported `acr` of the request, unless it names another.
  private func session(_ login: NextLogins.Login, requested: [String]) -> ProviderSession {
    let usual = requested.first(where: UserAuthentication.supportedACRs.contains) ?? UserAuthentication.supportedACRs[0]
    let acr = login.acr ?? usual
    return ProviderSession(
      user: login.user,
      authentication: UserAuthentication(
        time: login.time ?? clock.wallNow, acr: acr,
        amr: login.amr ?? (acr == "mfa" ? ["pwd", "otp", "mfa"] : ["pwd"]),
        sessionID: RandomText.next()))
  }
}
