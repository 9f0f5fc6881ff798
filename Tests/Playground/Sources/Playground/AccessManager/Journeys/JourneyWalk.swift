import PosternJSON

/// One user on the way through a tree.
struct JourneyWalk: Sendable {
  /// The purpose of a journey.
  enum Purpose: Sendable {
    /// A tree of that name.
    case tree(String)
    /// A transaction.
    case transaction(String)
  }

  /// The result of the pages so far.
  enum Verdict: Sendable {
    /// Another page is to be shown.
    case more
    /// The tree is through.
    case done
    /// The tree's failure.
    case failed
    /// The submission is none of this page.
    case invalid
  }

  let purpose: Purpose
  var nodes: [JourneyNode]
  /// The user, as far as known.
  var user: PlaygroundUser?
  /// The session that the cookie brought at the start.
  let ssoToken: String?
  /// Whether no session is to come of it.
  let isWithoutSession: Bool
  /// The balancer's cookie, without which the next request does not find this server.
  let balancer: String
  var tries = 0
  /// Whether the user agreed to the transaction.
  var agrees = false
  /// Whether a second factor was shown.
  var isStrong = false

  /// The value of the input of a submitted callback.
  private static func input(_ callbacks: [JSONValue], _ index: Int) -> JSONValue? {
    callbacks[index]["input"]?.arrayValue?.first?["value"]
  }

  /// Takes a submission in, whose callbacks are known to be those of the page.
  mutating func take(_ callbacks: [JSONValue], _ desk: LoginDesk, code: String?) -> Verdict {
    guard let node = nodes.first else { return .invalid }
    func text(_ index: Int) -> String { Self.input(callbacks, index)?.stringValue ?? "" }
    switch node {
    case .credentials:
      desk.statistics.count(\.logins)
      guard let found = PlaygroundUser.named(text(0)), found.password == text(1) else { return rejected(desk) }
      user = found
    case .password: guard let user, user.password == text(0) else { return rejected(desk) }
    case .oneTimePassword:
      guard text(0) == JourneyNode.code else {
        tries += 1
        return tries < 3 ? .more : rejected(desk)
      }
      isStrong = true
    case .choice:
      guard let index = Self.input(callbacks, 0)?.integerValue, (0...1).contains(index) else { return .invalid }
      nodes[0] = index == 0 ? .password : .oneTimePassword
      return .more
    case .push(let polls):
      guard polls <= 1 else {
        nodes[0] = .push(polls: polls - 1)
        return .more
      }
      isStrong = true
    case .email: return .more
    case .redirect: guard code == "good" else { return .failed }
    case .confirm:
      guard let index = Self.input(callbacks, 1)?.integerValue, (0...1).contains(index) else { return .invalid }
      agrees = index == 0
    case .everything:
      guard text(1) == "print", text(2).contains("@"), Self.input(callbacks, 3) == ["b": [nil], "a": 1.5] else {
        return .failed
      }
    }
    nodes.removeFirst()
    return nodes.isEmpty ? .done : .more
  }

  private func rejected(_ desk: LoginDesk) -> Verdict {
    desk.statistics.count(\.loginsRejected)
    return .failed
  }
}
