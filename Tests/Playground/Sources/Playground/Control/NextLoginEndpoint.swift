import PosternJSON
import PosternSupport

/// `POST /playground/login` announces logins, `GET` shows what is announced, `DELETE` forgets it.
///
/// The body of `POST`: `{"user": "alice", "acr": "mfa", "amr": ["pwd", "otp"], "authTime": 1800000000, "times": 1}`;
/// all but `user` may be left out.
struct NextLoginEndpoint: Endpoint {
  let nextLogins: NextLogins

  func reply(to request: Request) async throws -> Reply {
    switch request.method {
    case "POST":
      do throws(ControlBody.Problem) {
        nextLogins.announce(try Self.login(try ControlBody(request)))
      } catch {
        return .problem(400, error.message)
      }
    case "DELETE": nextLogins.announce(nil)
    default: break
    }
    return Reply(json: nextLogins.announced?.json ?? .null, headers: [("cache-control", "no-store")])
  }

  private static func login(_ body: ControlBody) throws(ControlBody.Problem) -> NextLogins.Login {
    try body.rejectOthers(than: ["user", "acr", "amr", "authTime", "times"])
    let time = try body.integer("authTime", in: 0...253_402_300_799)
    return NextLogins.Login(
      user: try user(body), acr: try body.string("acr"), amr: try body.strings("amr"),
      time: time.map { Timestamp(secondsSinceEpoch: $0) }, times: try body.integer("times", in: 1...1_000_000))
  }

  /// The user that a body names.
  static func user(_ body: ControlBody) throws(ControlBody.Problem) -> PlaygroundUser {
    guard let user = try body.string("user").flatMap(PlaygroundUser.named) else {
      let names = PlaygroundUser.all.map(\.name).joined(separator: ", ")
      throw ControlBody.Problem(message: "user: one of \(names) is expected")
    }
    return user
  }
}
