import Playground
import PlaygroundTestSupport
import PosternJSON
import PosternSupport
import Testing

/// The access manager's double: only a signed-on user gets codes, without a click.
@Suite struct AccessManagerTests {
  private static let authorize = "/am/oauth2/realms/root/realms/alpha/authorize"
  private static let sessions = "/am/json/realms/root/realms/alpha/sessions"

  private static func signOn(_ upstream: Upstream, _ user: String = "alice") async throws -> String {
    let response = try await upstream.control("ssoTokens", #"{"user":"\#(user)"}"#)
    #expect(response.json["cookieName"] == "playgroundSSO" && response.json["realm"] == "/alpha")
    return try #require(response.json["tokenId"]?.stringValue)
  }

  private static func ask(
    _ upstream: Upstream, _ token: String?, _ more: [(String, String)] = [], method: String = "POST"
  ) async throws -> RawHTTP.Response {
    let form = Upstream.form(Upstream.request() + more)
    var headers: [(String, String)] = []
    if let token { headers.append(("Cookie", "playgroundSSO=\(token)")) }
    guard method == "POST" else { return try await upstream.send("GET", "\(authorize)?\(form)", headers) }
    headers.append(("Content-Type", "application/x-www-form-urlencoded"))
    return try await upstream.send("POST", authorize, headers, body: Array(form.utf8))
  }

  @Test("consent with the cookie's own value gives a code, which the provider's token endpoint exchanges")
  func code() async throws {
    try await Upstream.run { upstream in
      let token = try await Self.signOn(upstream, "bob")
      let response = try await Self.ask(upstream, token, [("decision", "allow"), ("csrf", token)])
      #expect(response.status == 303 && response.location?.hasPrefix(Upstream.redirectURI + "?") == true)
      let tokens = try await upstream.redeem(try #require(response.redirected["code"])).json
      #expect(try await upstream.claims(tokens["id_token"]).claims["sub"] == "user-1002")
      #expect(try await upstream.counter("ssoAuthorizations") == 1)
    }
  }

  @Test("without consent, with another user's csrf or without the cookie there is no code")
  func rejections() async throws {
    try await Upstream.run { upstream in
      let token = try await Self.signOn(upstream)
      let other = try await Self.signOn(upstream)
      for (cookie, more, expected) in [
        (token, [("decision", "deny"), ("csrf", token)], "error=access_denied"),
        (token, [("decision", "allow"), ("csrf", other)], "error=invalid_request"),
        (token, [("decision", "allow")], "error=invalid_request"), (nil, [("decision", "allow")], "/am/XUI/"),
        ("unknown", [("decision", "allow"), ("csrf", "unknown")], "/am/XUI/"),
      ] as [(String?, [(String, String)], String)] {
        let response = try await Self.ask(upstream, cookie, more)
        #expect(response.location?.contains(expected) == true, "\(response.text)")
        #expect(response.location?.contains("code=") == false)
      }
      #expect(try await Self.ask(upstream, token, method: "GET").status == 200, "a page requests consent")
      upstream.clock.advance(by: .seconds(7201))
      #expect(try await Self.ask(upstream, token, method: "GET").location?.contains("/am/XUI/") == true)
    }
  }

  @Test("sessions can be looked up and ended, once; without the token nothing is revealed")
  func logout() async throws {
    try await Upstream.run { upstream in
      let token = try await Self.signOn(upstream)
      func call(_ action: String, _ token: String?) async throws -> RawHTTP.Response {
        let headers = token.map { [("Cookie", "playgroundSSO=\($0)")] } ?? []
        return try await upstream.send("POST", "\(Self.sessions)?_action=\(action)", headers)
      }
      #expect(try await call("getSessionInfo", token).json["username"] == "alice")
      #expect(try await call("getSessionInfo", nil).status == 401)
      #expect(try await call("nothing", token).status == 400)
      #expect(try await call("logout", token).status == 200)
      #expect(try await call("logout", token).status == 401)
      #expect(try await call("getSessionInfo", token).status == 401)
      #expect(try await upstream.counter("ssoLogouts") == 1)
    }
  }

  @Test("the server names the cookie; faults strike here too; control input is read strictly")
  func surroundings() async throws {
    try await Upstream.run { upstream in
      let information = try await upstream.send("GET", "/am/json/serverinfo/*")
      #expect(information.json["cookieName"] == "playgroundSSO")
      try await upstream.setFaults(#"{"ssoAuthorization":{"kind":"unavailable","times":1}}"#)
      #expect(try await Self.ask(upstream, nil).status == 503)
      for body in ["{}", #"{"user":"eve"}"#, #"{"user":"alice","x":1}"#, "[]", "x"] {
        #expect(try await upstream.send("POST", "/playground/ssoTokens", body: Array(body.utf8)).status == 400)
      }
      let token = try await Self.signOn(upstream)
      _ = try await upstream.send("DELETE", "/playground/ssoTokens")
      #expect(try await Self.ask(upstream, token).location?.contains("/am/XUI/") == true)
    }
  }
}

extension RawHTTP.Response {
  fileprivate var location: String? { self["location"].first }
}
