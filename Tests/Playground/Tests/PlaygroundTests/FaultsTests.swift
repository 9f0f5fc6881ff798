import Playground
import PlaygroundTestSupport
import PosternJSON
import Testing

@Suite struct FaultsTests {
  @Test(
    "Each fault of the token endpoint shows as its kind, strikes as often as configured, and then is gone",
    arguments: [
      ("serverError", 500), ("unavailable", 503), ("malformedJSON", 200), ("html", 200), ("emptyUnauthorized", 401),
      ("refuseCredentials", 401),
    ])
  func tokenFaults(kind: String, status: Int) async throws {
    try await Upstream.run { upstream in
      try await upstream.setFaults(#"{"token": {"kind": "\#(kind)", "times": 2, "retryAfterSeconds": 7}}"#)
      for _ in 0..<2 {
        let response = try await upstream.post("/oidc/token", "grant_type=client_credentials")
        #expect(response.status == status)
        #expect(response.json["access_token"] == nil)
        if kind == "unavailable" { #expect(response["retry-after"] == ["7"]) }
        if kind == "emptyUnauthorized" { #expect(response.body.isEmpty) }
        if kind == "refuseCredentials" { #expect(response.json["error"] == "invalid_client") }
      }
      _ = try await upstream.token()
      #expect(try await upstream.counter("tokenRequests") == 3)
      #expect(try await upstream.counter("tokenErrors") == 2)
    }
  }

  @Test("A slow token endpoint answers rightly, but late", .timeLimit(.minutes(1)))
  func slowToken() async throws {
    try await Upstream.run { upstream in
      try await upstream.setFaults(#"{"token": {"kind": "slow", "delayMs": 300}}"#)
      async let token = upstream.token()
      while upstream.clock.sleeperCount == 0 { await Task.yield() }
      upstream.clock.advance(by: .milliseconds(300))
      #expect(try await !token.isEmpty)
    }
  }

  @Test("The resource rejects valid tokens once or always, as switched; DELETE ends it")
  func resourceFaults() async throws {
    try await Upstream.run { upstream in
      let token = try await upstream.token()
      try await upstream.setFaults(#"{"resource": {"kind": "unauthorized", "times": 1}}"#)
      let rejected = try await upstream.send("GET", "/resource/orders", bearer: token)
      #expect(rejected.status == 401)
      #expect(rejected["www-authenticate"].first?.hasPrefix("Bearer ") == true)
      #expect(try await upstream.send("GET", "/resource/orders", bearer: token).status == 200)
      try await upstream.setFaults(#"{"resource": {"kind": "unauthorized"}}"#)
      for _ in 0..<3 { #expect(try await upstream.send("GET", "/resource/orders", bearer: token).status == 401) }
      #expect(try await upstream.send("GET", "/playground/faults").json == ["resource": ["kind": "unauthorized"]])
      #expect(try await upstream.send("DELETE", "/playground/faults").json == [:])
      #expect(try await upstream.send("GET", "/resource/orders", bearer: token).status == 200)
      #expect(try await upstream.counter("resourceUnauthorized") == 4)
    }
  }

  @Test("Revoking all tokens ends the old ones and not the new ones")
  func revokeAll() async throws {
    try await Upstream.run { upstream in
      let old = try await upstream.token()
      try await upstream.setFaults(#"{"revokeTokens": true}"#)
      let new = try await upstream.token()
      #expect(try await upstream.send("GET", "/resource/orders", bearer: old).status == 401)
      #expect(try await upstream.send("GET", "/resource/orders", bearer: new).status == 200)
    }
  }

  @Test("Metadata of another issuer can be had for tests of the issuer check")
  func wrongIssuer() async throws {
    try await Upstream.run { upstream in
      try await upstream.setFaults(#"{"discovery": {"kind": "wrongIssuer"}}"#)
      let response = try await upstream.send("GET", "/oidc/.well-known/openid-configuration")
      #expect(response.json["issuer"]?.stringValue != upstream.server.issuer)
    }
  }

  @Test(
    "An invalid request to switch faults is rejected with the position, and changes nothing",
    arguments: [
      ("", "ends too early"),
      ("[]", "object"),
      (#"{"token": {"kind": "unauthorized"}}"#, "token.kind"),
      (#"{"token": {}}"#, "token.kind"),
      (#"{"idToken": {"kind": "serverError"}}"#, "idToken.kind"),
      (#"{"jwks": {"kind": "dropAfterIssue"}}"#, "jwks.kind"),
      (#"{"token": {"kind": "slow", "delayMs": 100000000}}"#, "token.delayMs"),
      (#"{"token": {"kind": "html", "times": 0}}"#, "token.times"),
      (#"{"token": {"kind": "html", "time": 1}}"#, "token.time"),
      (#"{"tokens": null}"#, "tokens"),
      (#"{"jwks": {"kind": "html"}, "revokeTokens": 1}"#, "revokeTokens"),
      (#"{"token": 1}"#, "token"),
    ])
  func notUnderstood(body: String, mention: String) async throws {
    try await Upstream.run { upstream in
      let response = try await upstream.send("POST", "/playground/faults", body: Array(body.utf8))
      #expect(response.status == 400)
      #expect(response.text.contains(mention))
      #expect(try await upstream.send("GET", "/playground/faults").json == [:])
    }
  }
}
