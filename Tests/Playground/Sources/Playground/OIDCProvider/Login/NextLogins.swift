import PosternJSON
import PosternSupport

/// Logins that tests have announced: they happen at once, where a user would see the login page.
final class NextLogins: Sendable {
  /// An announced login.
  struct Login: Sendable {
    /// The user who logs in.
    var user: PlaygroundUser
    /// `acr`; nil: as requested.
    var acr: String?
    /// `amr`; nil: what belongs to the `acr`.
    var amr: [String]?
    /// `auth_time`; nil: now.
    var time: Timestamp?
    /// How many more logins it is good for; nil: any number.
    var times: Int64?

    /// The login as `GET /playground/login` shows it.
    var json: JSONValue {
      [
        "user": .string(user.name),
        "acr": acr.map { .string($0) } ?? .null,
        "amr": amr.map { .array($0.map { .string($0) }) } ?? .null,
        "authTime": time.map { .integer($0.secondsSinceEpoch) } ?? .null,
        "times": times.map { .integer($0) } ?? .null,
      ]
    }
  }

  private let next = Locked<Login?>(nil)

  /// The announced logins.
  var announced: Login? { next.withLock { $0 } }

  /// Announces logins, or none.
  func announce(_ login: Login?) { next.withLock { $0 = login } }

  /// The login that happens now, if one is announced.
  func take() -> Login? {
    next.withLock { next in
      guard let login = next else { return nil }
      if let times = login.times { next = times > 1 ? login.with(times: times - 1) : nil }
      return login
    }
  }
}

extension NextLogins.Login {
  fileprivate func with(times: Int64) -> NextLogins.Login {
    var login = self
    login.times = times
    return login
  }
}
