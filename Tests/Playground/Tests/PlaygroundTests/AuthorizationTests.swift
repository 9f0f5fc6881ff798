import Playground
import PlaygroundTestSupport
import PosternJSON
import PosternSupport
import Testing

@Suite struct AuthorizationTests {
  @Test("A sign-in leads from the page back to the client with code, state and iss (RFC 6749 section 4.1.2, RFC 9207)")
  func signIn() async throws {
    try await Upstream.run { upstream in
      let browser = Browser(upstream)
      let page = try await upstream.authorize(in: browser)
      #expect(page.status == 200)
      #expect(page["content-type"] == ["text/html; charset=utf-8"])
      #expect(page["cache-control"] == ["no-store"])
      #expect(page["location"].isEmpty)
      let response = try await browser.signIn(at: page)
      #expect(response.status == 303)
      #expect(response["location"].first?.hasPrefix(Upstream.redirectURI + "?") == true)
      #expect(response.redirected["code"]?.isEmpty == false)
      #expect(response.redirected["state"] == "s t&te")
      #expect(response.redirected["iss"] == upstream.server.issuer)
      #expect(response["set-cookie"].first?.contains("HttpOnly; SameSite=Lax") == true)
    }
  }

  @Test("The page works without scripts, loads nothing, labels its fields, and shows nothing of the request as HTML")
  func page() async throws {
    try await Upstream.run { upstream in
      let page = try await upstream.authorize("shop", ["login_hint": #""><script>alert(1)</script>"#])
      #expect(!page.text.contains("<script"))
      #expect(!page.text.contains("http://") && !page.text.contains("https://"))
      for field in ["username", "password"] {
        #expect(page.text.contains("<label for=\"\(field)\">"))
        #expect(page.text.contains("id=\"\(field)\""))
      }
      #expect(page.text.contains("value=\"&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;\""))
      let policy = try #require(page["content-security-policy"].first)
      #expect(policy.hasPrefix("default-src 'none'; style-src 'sha256-"))
      let style = try #require(page.text.split(separator: "<style>").last?.split(separator: "</style>").first)
      #expect(policy.contains(Upstream.sha256Base64(String(style))))
    }
  }

  static let unredirectable: [[String: String?]] = [
    ["client_id": nil], ["client_id": "unknown"], ["client_id": "svc"], ["redirect_uri": nil],
    ["redirect_uri": "http://127.0.0.1:4711/callback/"], ["redirect_uri": "http://evil.example/callback"],
    ["redirect_uri": "http://127.0.0.1.evil.example/callback"],
    ["request_uri": "urn:ietf:params:oauth:request_uri:unknown"],
  ]

  @Test("With a client or redirect URI that is not good nothing is ever sent there", arguments: unredirectable)
  func neverRedirected(changes: [String: String?]) async throws {
    try await Upstream.run { upstream in
      let response = try await upstream.authorize("shop", changes)
      #expect(response.status == 400)
      #expect(response["location"].isEmpty)
      let twice = try await upstream.send(
        "GET", "/oidc/authorize?redirect_uri=http://evil.example&" + Upstream.form(Upstream.request()))
      #expect(twice.status == 400)
    }
  }

  static let rejected: [([String: String?], String)] = [
    (["response_type": nil], "invalid_request"),
    (["response_type": "token"], "unsupported_response_type"),
    (["response_type": "code token"], "unsupported_response_type"),
    (["response_type": "code code"], "unsupported_response_type"),
    (["response_mode": "form_post"], "invalid_request"),
    (["scope": "openid unheard"], "invalid_scope"),
    (["prompt": "none"], "login_required"),
    (["prompt": "none login"], "invalid_request"),
    (["prompt": "dance"], "invalid_request"),
    (["max_age": "-1"], "invalid_request"),
    (["max_age": "1e3"], "invalid_request"),
    (["acr_values": "phr phrh"], "unmet_authentication_requirements"),
    (["code_challenge_method": "plain"], "invalid_request"),
    (["code_challenge_method": nil], "invalid_request"),
    (["code_challenge": nil], "invalid_request"),
    (["code_challenge": "short"], "invalid_request"),
    (["code_challenge": String(repeating: "+", count: 43)], "invalid_request"),
    (["resource": "relative"], "invalid_target"),
    (["dpop_jkt": "short"], "invalid_request"),
    (["request": "e30.e30."], "request_not_supported"),
    (["request_uri": "https://a.example/"], "request_uri_not_supported"),
    (["registration": "{}"], "registration_not_supported"),
    (["id_token_hint": "nonsense"], "invalid_request"),
    (["nonce": String(repeating: "n", count: 9000)], "invalid_request"),
  ]

  @Test("An invalid request is reported to the client by redirect, with state and iss", arguments: rejected)
  func rejections(changes: [String: String?], error: String) async throws {
    try await Upstream.run { upstream in
      let response = try await upstream.authorize("shop", changes)
      #expect(response.status == 303)
      #expect(response.redirected["error"] == error)
      #expect(response.redirected["state"] == "s t&te")
      #expect(response.redirected["iss"] == upstream.server.issuer)
      #expect(response.redirected["code"] == nil)
    }
  }

  @Test("A public client without PKCE is rejected; a confidential one may do without")
  func pkceRequired() async throws {
    try await Upstream.run { upstream in
      let changes: [String: String?] = ["code_challenge": nil, "code_challenge_method": nil]
      let rejected = try await upstream.authorize("cli", changes)
      #expect(rejected.redirected["error"] == "invalid_request")
      #expect(try await upstream.authorize("shop", changes).status == 200)
    }
  }

  @Test("A second authorization in the same browser is silent, until prompt, max_age, login_hint or acr ask for more")
  func session() async throws {
    try await Upstream.run { upstream in
      let browser = Browser(upstream)
      _ = try await upstream.code(in: browser)
      #expect(try await upstream.authorize(in: browser).redirected["code"] != nil)
      #expect(try await upstream.authorize("shop", ["prompt": "none"], in: browser).redirected["code"] != nil)
      #expect(try await upstream.authorize("shop", ["prompt": "consent"], in: browser).redirected["code"] != nil)
      #expect(try await upstream.authorize("shop", ["login_hint": "alice"], in: browser).redirected["code"] != nil)
      for changes in [["prompt": "login"], ["login_hint": "bob"], ["acr_values": "mfa"], ["prompt": "select_account"]] {
        #expect(try await upstream.authorize("shop", changes, in: browser).status == 200, "\(changes)")
      }
      upstream.clock.advance(by: .seconds(100))
      #expect(try await upstream.authorize("shop", ["max_age": "100"], in: browser).status == 303)
      #expect(try await upstream.authorize("shop", ["max_age": "99"], in: browser).status == 200)
      let none = try await upstream.authorize("shop", ["max_age": "99", "prompt": "none"], in: browser)
      #expect(none.redirected["error"] == "login_required")
      #expect(try await upstream.counter("logins") == 1)
    }
  }

  @Test("A wrong password shows the page again, ten end the attempt; a page cannot be used twice")
  func wrongPassword() async throws {
    try await Upstream.run { upstream in
      let browser = Browser(upstream)
      let page = try await upstream.authorize(in: browser)
      let again = try await browser.signIn(at: page, password: "wrong")
      #expect(again.status == 403)
      #expect(again.text.contains(#"role="alert""#))
      #expect(try await browser.signIn(at: again).status == 303)
      #expect(try await browser.signIn(at: page).status == 400)
      let other = try await upstream.authorize("shop", ["prompt": "login"], in: browser)
      for _ in 0..<9 { #expect(try await browser.signIn(at: other, as: "unknown").status == 403) }
      #expect(try await browser.signIn(at: other, as: "unknown").redirected["error"] == "access_denied")
      #expect(try await upstream.counter("loginsRejected") == 11)
    }
  }

  @Test("Who cancels, or logs in as another user than the hinted one, sends the client an error")
  func cancelled() async throws {
    try await Upstream.run { upstream in
      let browser = Browser(upstream)
      let cancelled = try await browser.signIn(at: upstream.authorize(in: browser), also: [("action", "cancel")])
      #expect(cancelled.redirected["error"] == "access_denied")
      let hint = try #require(try await upstream.tokens()["id_token"]?.stringValue)
      let other = try await browser.signIn(
        at: upstream.authorize("shop", ["id_token_hint": hint], in: browser), as: "bob")
      #expect(other.redirected["error"] == "login_required")
      let same = try await browser.signIn(at: upstream.authorize("shop", ["id_token_hint": hint], in: browser))
      #expect(same.redirected["code"] != nil)
    }
  }

  @Test("An announced login happens at once, as often as announced, with the acr, amr and auth_time it names")
  func announced() async throws {
    try await Upstream.run { upstream in
      let body = #"{"user": "bob", "acr": "gold", "amr": ["hwk"], "authTime": 1700000000, "times": 1}"#
      _ = try await upstream.control("login", body)
      #expect(try await upstream.authorize("shop", ["prompt": "none"]).redirected["error"] == "login_required")
      let code = try #require(try await upstream.authorize().redirected["code"])
      let claims = try await upstream.claims(upstream.redeem(code).json["id_token"]).claims
      #expect(claims["sub"] == "user-1002")
      #expect(claims["acr"] == "gold")
      #expect(claims["amr"] == ["hwk"])
      #expect(claims["auth_time"] == 1_700_000_000)
      #expect(try await upstream.authorize().status == 200)
      for wrong in [#"{"user": "carol"}"#, #"{"user": "bob", "times": 0}"#, #"{"user": "bob", "amr": 1}"#, "[]", "{}"] {
        #expect(try await upstream.send("POST", "/playground/login", body: Array(wrong.utf8)).status == 400)
      }
    }
  }

  @Test("The login page's form can choose acr, amr and auth_time; a requested acr is given")
  func chosen() async throws {
    try await Upstream.run { upstream in
      let browser = Browser(upstream)
      let chosen = [("acr", "x"), ("amr", "a b"), ("auth_time", "1700000001")]
      let response = try await browser.signIn(at: upstream.authorize(in: browser), also: chosen)
      let code = try #require(response.redirected["code"])
      let claims = try await upstream.claims(upstream.redeem(code).json["id_token"]).claims
      #expect(claims["acr"] == "x" && claims["amr"] == ["a", "b"] && claims["auth_time"] == 1_700_000_001)
      let requested = try await upstream.redeem(upstream.code("shop", ["acr_values": "unknown mfa"]))
      #expect(try await upstream.claims(requested.json["id_token"]).claims["acr"] == "mfa")
      let page = try await upstream.authorize("shop", ["prompt": "login"], in: browser)
      #expect(try await browser.signIn(at: page, also: [("auth_time", "soon")]).status == 403)
    }
  }

  @Test("The hybrid flow answers in the fragment with an ID token that names the code, and rejects the query")
  func hybrid() async throws {
    try await Upstream.run { upstream in
      let browser = Browser(upstream)
      let hybrid: [String: String?] = ["response_type": "code id_token"]
      let response = try await browser.signIn(at: upstream.authorize("shop", hybrid, in: browser))
      #expect(response["location"].first?.hasPrefix(Upstream.redirectURI + "#code=") == true)
      let claims = try await upstream.claims(response.redirected["id_token"].map { .string($0) }).claims
      let code = try #require(response.redirected["code"])
      #expect(claims["c_hash"]?.stringValue == Upstream.leftHalfHash(of: code))
      #expect(claims["nonce"] == "n-1")
      #expect(try await upstream.redeem(code).status == 200)
      for changes in [["response_mode": "query"], ["nonce": nil], ["scope": "orders"]] as [[String: String?]] {
        let rejected = try await upstream.authorize("shop", hybrid.merging(changes) { $1 })
        #expect(rejected.redirected["error"] == "invalid_request", "\(changes)")
      }
    }
  }

  @Test(
    "Faults of the redirect: a denial, another state, another issuer",
    arguments: [("denyAccess", "error"), ("wrongState", "state"), ("wrongIssuer", "iss")])
  func faults(kind: String, parameter: String) async throws {
    try await Upstream.run { upstream in
      _ = try await upstream.control("login", #"{"user": "alice"}"#)
      let good = try await upstream.authorize().redirected
      try await upstream.setFaults(#"{"authorization": {"kind": "\#(kind)", "times": 1}}"#)
      let spoilt = try await upstream.authorize().redirected
      #expect(spoilt[parameter] != good[parameter])
      #expect(try await upstream.authorize().redirected[parameter] == good[parameter])
    }
  }

  @Test("A POST is as good as a GET (OpenID Connect Core section 3.1.2.1), other media types are not")
  func post() async throws {
    try await Upstream.run { upstream in
      let posted = try await Browser(upstream).post("/oidc/authorize", Upstream.request())
      #expect(posted.status == 200)
      let twice = try await Browser(upstream).post("/oidc/authorize", Upstream.request() + [("scope", "openid")])
      #expect(twice.redirected["error"] == "invalid_request")
      #expect(try await upstream.send("POST", "/oidc/authorize", body: Array("{}".utf8)).status == 400)
    }
  }
}
