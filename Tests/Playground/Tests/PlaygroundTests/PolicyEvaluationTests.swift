import Playground
import PlaygroundTestSupport
import PosternJSON
import PosternSupport
import Testing

/// The double of the policy evaluation: its rejections, and answers as an access manager may send them.
@Suite struct PolicyEvaluationTests {
  private static let path = "/am/json/realms/root/realms/alpha/policies?_action=evaluate"

  private static func signOn(_ upstream: Upstream, _ user: String) async throws -> String {
    try #require(try await upstream.control("ssoTokens", #"{"user":"\#(user)"}"#).json["tokenId"]?.stringValue)
  }

  private static func evaluate(
    _ upstream: Upstream, _ token: String?, _ body: String, _ path: String = Self.path
  ) async throws -> RawHTTP.Response {
    var headers = [("Content-Type", "application/json")]
    if let token { headers.append(("playgroundSSO", token)) }
    return try await upstream.send("POST", path, headers, body: Array(body.utf8))
  }

  private static func row(_ response: RawHTTP.Response, _ resource: String) -> JSONValue? {
    response.json.arrayValue?.first { $0["resource"]?.stringValue == resource }
  }

  @Test("neither an unauthorized caller nor a malformed request gets a decision")
  func rejections() async throws {
    try await Upstream.run { upstream in
      let warden = try await Self.signOn(upstream, "warden")
      let alice = try await Self.signOn(upstream, "alice")
      let good = #"{"resources":["open"]}"#
      #expect(try await Self.evaluate(upstream, nil, good).status == 401)
      #expect(try await Self.evaluate(upstream, "unknown", good).status == 401)
      #expect(try await Self.evaluate(upstream, alice, good).status == 403)
      #expect(try await Self.evaluate(upstream, warden, good).status == 200)
      for body in [
        "", "[]", "{}", #"{"resources":[]}"#, #"{"resources":"open"}"#, #"{"resources":[1]}"#,
        #"{"resources":["open"],"application":"unknown"}"#, #"{"resources":["open"],"subject":{}}"#,
        #"{"resources":["open"],"subject":{"ssoToken":"eyJ0.eyJ9.x"}}"#,
        #"{"resources":["open"],"subject":{"jwt":"x"}}"#,
        #"{"resources":["open"],"subject":{"claims":{}}}"#, #"{"resources":["open"],"environment":{"TxId":"x"}}"#,
      ] {
        #expect(try await Self.evaluate(upstream, warden, body).status == 400, "\(body)")
      }
      let tree = Self.path.replacing("evaluate", with: "evaluateTree")
      #expect(try await Self.evaluate(upstream, warden, good, tree).status == 400)
    }
  }

  @Test("rows come in another order than in the request, with the largest ttl, and empty maps in either form")
  func rows() async throws {
    try await Upstream.run { upstream in
      let warden = try await Self.signOn(upstream, "warden")
      let alice = try await Self.signOn(upstream, "alice")
      let body =
        #"{"resources":["https://s.test/open/a","https://s.test/denied/b","https://s.test/service/c"],"subject":{"ssoToken":"\#(alice)"}}"#
      let response = try await Self.evaluate(upstream, warden, body)
      #expect(response.json.arrayValue?.first?["resource"] == "https://s.test/service/c")
      let open = Self.row(response, "https://s.test/open/a")
      #expect(open?["actions"]?["GET"] == true && open?["ttl"] == .integer(.max) && open?["advices"] == [:])
      #expect(Self.row(response, "https://s.test/denied/b")?["actions"]?["GET"] == false)
      let service = Self.row(response, "https://s.test/service/c")
      #expect(service?["actions"] == [:])
      #expect(service?["advices"]?["AuthenticateToServiceConditionAdvice"] == ["/alpha:ConfirmPassword"])
      _ = try await upstream.control("accessManager", #"{"emptyArrays":true}"#)
      let arrays = try await Self.evaluate(upstream, warden, body)
      #expect(Self.row(arrays, "https://s.test/service/c")?["actions"] == [])
    }
  }

  @Test("no subject, and a subject that is only claimed, gets no more than what is open to all")
  func subjects() async throws {
    try await Upstream.run { upstream in
      let warden = try await Self.signOn(upstream, "warden")
      let jwt = "e30.\(Base64URL.string(Array(#"{"sub":"user-1001"}"#.utf8))).unsigned"
      for subject in [#"{"claims":{"sub":"user-1001"}}"#, #"{"jwt":"\#(jwt)"}"#] {
        let open = try await Self.evaluate(upstream, warden, #"{"resources":["open"],"subject":\#(subject)}"#)
        #expect(Self.row(open, "open")?["actions"]?["GET"] == true)
        let level = try await Self.evaluate(upstream, warden, #"{"resources":["level"],"subject":\#(subject)}"#)
        #expect(level.status == 500)
      }
      let gone = try await Self.evaluate(upstream, warden, #"{"resources":["open"],"subject":{"ssoToken":"gone"}}"#)
      #expect(gone.status == 200 && Self.row(gone, "open")?["actions"] == [:])
    }
  }
}
