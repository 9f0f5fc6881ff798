import JOSE
import Playground
import PlaygroundTestSupport
import PosternJSON
import PosternSupport
import Testing

@Suite struct LogoutTests {
  private static let signedOut = "http://127.0.0.1:4711/signed-out"

  @Test("With its ID token a client ends the session and its grants, and the user comes back with the state")
  func hinted() async throws {
    try await Upstream.run { upstream in
      let browser = Browser(upstream)
      let tokens = try await upstream.redeem(upstream.code(in: browser)).json
      let offline = try await upstream.redeem(
        try #require(
          try await upstream.authorize("shop", ["scope": "openid offline_access"], in: browser).redirected["code"]))
      upstream.clock.advance(by: .seconds(3600))
      let query = Upstream.form([
        ("id_token_hint", try #require(tokens["id_token"]?.stringValue)),
        ("post_logout_redirect_uri", Self.signedOut), ("state", "a b"),
      ])
      let response = try await browser.get("/oidc/logout?" + query)
      #expect(response["location"] == [Self.signedOut + "?state=a%20b"])
      #expect(
        try await upstream.authorize("shop", ["prompt": "none"], in: browser).redirected["error"] == "login_required")
      #expect(try await upstream.refresh(tokens["refresh_token"]).json["error"] == "invalid_grant")
      #expect(try await upstream.refresh(offline.json["refresh_token"]).status == 200)
    }
  }

  @Test("Without a hint about the current user the user has to confirm: a link elsewhere must not log a user out")
  func confirmation() async throws {
    try await Upstream.run { upstream in
      let browser = Browser(upstream)
      _ = try await upstream.code(in: browser)
      let page = try await browser.get("/oidc/logout")
      #expect(page.status == 200)
      #expect(try await upstream.authorize("shop", ["prompt": "none"], in: browser).redirected["code"] != nil)
      let named = Upstream.form([
        ("client_id", "shop"), ("post_logout_redirect_uri", Self.signedOut), ("state", "\"s"),
      ])
      let kept = try await browser.get("/oidc/logout?" + named)
      #expect(kept.hidden("post_logout_redirect_uri") == Self.signedOut)
      #expect(kept.hidden("state") == "&quot;s")
      let session = try #require(page.hidden("session"))
      #expect(try await browser.post("/oidc/logout", [("session", session + "x")]).hidden("session") != nil)
      #expect(try await browser.post("/oidc/logout", [("session", session)]).text.contains("Signed out"))
      #expect(
        try await upstream.authorize("shop", ["prompt": "none"], in: browser).redirected["error"] == "login_required")
    }
  }

  @Test("A redirect that is not registered, a foreign hint and a client that is not the hint's are rejected")
  func rejections() async throws {
    try await Upstream.run { upstream in
      let hint = try #require(try await upstream.tokens()["id_token"]?.stringValue)
      let wrong: [[(String, String)]] = [
        [("id_token_hint", hint), ("post_logout_redirect_uri", "http://evil.example/")],
        [("post_logout_redirect_uri", Self.signedOut)], [("id_token_hint", hint + "x")],
        [("id_token_hint", hint), ("client_id", "cli")], [("client_id", "a"), ("client_id", "b")],
        [("client_id", "unknown"), ("post_logout_redirect_uri", Self.signedOut)],
      ]
      for query in wrong {
        let response = try await upstream.send("GET", "/oidc/logout?" + Upstream.form(query))
        #expect(response.status == 400)
        #expect(response["location"].isEmpty)
      }
      let named = Upstream.form([("client_id", "cli"), ("post_logout_redirect_uri", Self.signedOut)])
      #expect(try await upstream.send("GET", "/oidc/logout?" + named).status == 303)
    }
  }

  @Test("A logout token has the claims of Back-Channel Logout section 2.4, and whatever a test wants to be wrong")
  func logoutToken() async throws {
    try await Upstream.run { upstream in
      let good = try await upstream.control("logoutToken", #"{"clientId": "shop", "user": "alice", "sid": "s"}"#)
      let (header, claims) = try await upstream.claims(good.json["logout_token"])
      #expect(header.parameters["typ"] == "logout+jwt")
      #expect(claims["aud"] == "shop" && claims["sub"] == "user-1001" && claims["sid"] == "s")
      #expect(claims["events"] == ["http://schemas.openid.net/event/backchannel-logout": [:]])
      #expect(claims["nonce"] == nil)
      let bad = try await upstream.control(
        "logoutToken", #"{"clientId": "shop", "claims": {"events": null, "nonce": "n"}, "type": "JWT"}"#)
      let spoilt = try await upstream.claims(bad.json["logout_token"]).claims
      #expect(spoilt["events"] == nil && spoilt["nonce"] == "n")
      for wrong in ["{}", #"{"clientId": "unknown"}"#, #"{"clientId": "shop", "claims": 1}"#, #"{"x": 1}"#] {
        #expect(try await upstream.send("POST", "/playground/logoutToken", body: Array(wrong.utf8)).status == 400)
      }
    }
  }

  @Test("Settings show what they are, change only what is named, and change nothing when a value makes no sense")
  func settings() async throws {
    try await Upstream.run { upstream in
      let changed = try await upstream.control("settings", #"{"reuseGraceMs": 5, "providerNonce": true}"#)
      #expect(
        changed.json == [
          "rotateRefreshTokens": true, "repeatRefreshTokens": true, "reuseGraceMs": 5, "providerNonce": true,
          "resourceNonce": false,
        ])
      for wrong in [#"{"reuseGraceMs": -1}"#, #"{"providerNonce": false, "resourceNonce": 1}"#, #"{"x": true}"#, "1"] {
        #expect(try await upstream.send("POST", "/playground/settings", body: Array(wrong.utf8)).status == 400)
      }
      #expect(try await upstream.send("GET", "/playground/settings").json == changed.json)
      #expect(try await upstream.send("DELETE", "/playground/settings").json["reuseGraceMs"] == 0)
    }
  }
}
