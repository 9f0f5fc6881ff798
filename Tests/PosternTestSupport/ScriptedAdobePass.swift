public import HTTPMessages
import PosternSupport

/// Adobe Pass for the service provider `REF30`, as far as one login by a code, one playback and one logout go.
///
/// The third question about the code `QZR7T4` finds the login, at the MVPD `Cablevision`.
public final class ScriptedAdobePass: Sendable {
  private static let end = 4_102_444_799_999
  private static let profile = """
    {"profiles":{"Cablevision":{"type":"regular","issuer":"Cablevision","notBefore":1,"notAfter":\(end),
    "attributes":{"userID":{"value":"u-1","state":"plain"},"maxRating":{"value":{"MPAA":"PG-13"},"state":"plain"}}}}}
    """

  private let questions = Locked(0)
  private let isLoggedIn: Locked<Bool>

  /// A service where the user of the device `isLoggedIn`.
  public init(isLoggedIn: Bool = false) { self.isLoggedIn = Locked(isLoggedIn) }

  /// The number of questions about the code.
  public var questionCount: Int { questions.withLock { $0 } }

  /// Answers a request, as a script of `ScriptedTransport`.
  public func answer(_ request: HTTPRequest) -> HTTPResponse {
    let path = request.url.path
    switch path {
    case "/o/client/register": return Self.json(#"{"client_id":"c","client_secret":"s"}"#, status: 201)
    case "/o/client/token":
      return Self.json(#"{"access_token":"t","created_at":1800000000000,"expires_in":21600,"token_type":"bearer"}"#)
    default: break
    }
    let prefix = "/api/v2/REF30/"
    guard path.hasPrefix(prefix) else { return Self.json("{}", status: 404) }
    return answer(request.method, String(path.dropFirst(prefix.count)), request.body ?? [])
  }

  private func answer(_ method: String, _ path: String, _ body: [UInt8]) -> HTTPResponse {
    switch path {
    case "configuration":
      return Self.json(
        #"{"requestor":{"id":"REF30","mvpds":[{"id":"Cablevision"},{"id":"TempPass_Basic","isTempPass":true}]}}"#)
    case "sessions" where String(decoding: body, as: UTF8.self).contains("mvpd="):
      return session("authenticate", "interactive")
    case "sessions": return session("resume", "direct")
    case "sessions/QZR7T4" where method == "POST": return session("authenticate", "interactive")
    case "sessions/QZR7T4":
      return Self.json(
        """
        {"existingParameters":{"serviceProvider":"REF30"},"missingParameters":["mvpd","domainName","redirectUrl"],
        "device":{"type":"TV"}}
        """)
    case "profiles/code/QZR7T4":
      let number = questions.withLock { count in
        count += 1
        return count
      }
      guard number >= 3 else { return Self.json(#"{"profiles":{}}"#) }
      isLoggedIn.withLock { $0 = true }
      return Self.json(Self.profile)
    case "profiles", "profiles/Cablevision":
      return Self.json(isLoggedIn.withLock { $0 } ? Self.profile : #"{"profiles":{}}"#)
    case "decisions/authorize/Cablevision", "decisions/authorize/TempPass_Basic": return decision(body)
    case "logout/Cablevision":
      isLoggedIn.withLock { $0 = false }
      return Self.json(
        """
        {"logouts":{"Cablevision":{"actionName":"logout","actionType":"interactive","mvpd":"Cablevision",
        "url":"/adobe-services/logout"}}}
        """)
    default: return Self.json("{}", status: 404)
    }
  }

  private func session(_ name: String, _ type: String) -> HTTPResponse {
    let rest =
      name == "resume"
      ? #""missingParameters":["mvpd","domain","redirectUrl"]"# : #""url":"/api/v2/authenticate/REF30/QZR7T4""#
    return Self.json(
      #"{"actionName":"\#(name)","actionType":"\#(type)","reasonType":"none","code":"QZR7T4","#
        + #""notAfter":"\#(Self.end)",\#(rest)}"#)
  }

  /// A permit for the resource `news`, and a denial for every other one.
  private func decision(_ body: [UInt8]) -> HTTPResponse {
    guard String(decoding: body, as: UTF8.self) == #"{"resources":["news"]}"# else {
      return Self.json(
        """
        {"decisions":[{"resource":"films","authorized":false,"error":{"status":403,
        "code":"authorization_denied_by_mvpd","action":"none","message":"Not in the package."}}]}
        """)
    }
    return Self.json(
      """
      {"decisions":[{"resource":"news","authorized":true,"source":"mvpd",
      "token":{"serializedToken":"media","notAfter":\(Self.end)}}]}
      """)
  }

  private static func json(_ text: String, status: Int = 200) -> HTTPResponse {
    HTTPResponse(status: status, fields: ["Content-Type": "application/json"], body: Array(text.utf8))
  }
}
