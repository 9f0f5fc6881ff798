import PlaygroundTestSupport
import PosternJSON
import PosternSupport
import Testing

@testable import Playground

@Suite struct RefreshTokenTests {
  @Test("A refresh gives new tokens of the same grant; the ID token keeps sub, auth_time and aud and has no nonce")
  func refresh() async throws {
    try await Upstream.run { upstream in
      let first = try await upstream.tokens()
      upstream.clock.advance(by: .seconds(30))
      let second = try await upstream.refresh(first["refresh_token"])
      #expect(second.status == 200)
      #expect(second.json["refresh_token"] != first["refresh_token"])
      #expect(second.json["access_token"] != first["access_token"])
      let old = try await upstream.claims(first["id_token"]).claims
      let new = try await upstream.claims(second.json["id_token"]).claims
      for claim in ["iss", "sub", "aud", "auth_time", "acr", "amr", "sid"] { #expect(old[claim] == new[claim]) }
      #expect(new["nonce"] == nil)
      #expect(new["iat"]?.integerValue == old["iat"]?.integerValue.map { $0 + 30 })
      let accessToken = try #require(second.json["access_token"]?.stringValue)
      #expect(new["at_hash"]?.stringValue == Upstream.leftHalfHash(of: accessToken))
    }
  }

  @Test("Reuse of a replaced refresh token revokes the whole family, access tokens included, and is counted")
  func reuse() async throws {
    try await Upstream.run { upstream in
      let first = try await upstream.tokens()
      let second = try await upstream.refresh(first["refresh_token"]).json
      let accessToken = try #require(second["access_token"]?.stringValue)
      #expect(try await upstream.send("GET", "/resource/orders", bearer: accessToken).status == 200)
      let other = try await upstream.tokens()
      #expect(try await upstream.refresh(first["refresh_token"]).json["error"] == "invalid_grant")
      #expect(try await upstream.refresh(second["refresh_token"]).json["error"] == "invalid_grant")
      #expect(try await upstream.send("GET", "/resource/orders", bearer: accessToken).status == 401)
      #expect(try await upstream.refresh(other["refresh_token"]).status == 200)
      #expect(try await upstream.counter("refreshTokenReuseDetected") == 1)
      #expect(try await upstream.counter("refreshTokenFamiliesRevoked") == 1)
    }
  }

  @Test("Of many uses of one refresh token at once one succeeds, and the others are reuse", .timeLimit(.minutes(1)))
  func race() async throws {
    try await Upstream.run { upstream in
      let token = try await upstream.tokens()["refresh_token"]
      let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
        for _ in 0..<16 { group.addTask { try await upstream.refresh(token).status } }
        return try await group.reduce(into: []) { $0.append($1) }
      }
      #expect(statuses.count { $0 == 200 } == 1)
      #expect(try await upstream.counter("refreshTokenReuseDetected") == 1)
    }
  }

  @Test("Within the grace a replaced token is still good, after it not")
  func grace() async throws {
    try await Upstream.run(PlaygroundConfiguration(reuseGrace: .seconds(10))) { upstream in
      let token = try await upstream.tokens()["refresh_token"]
      #expect(try await upstream.refresh(token).status == 200)
      upstream.clock.advance(by: .seconds(10))
      #expect(try await upstream.refresh(token).status == 200)
      #expect(try await upstream.counter("refreshTokenReuseDetected") == 0)
      upstream.clock.advance(by: .milliseconds(1))
      #expect(try await upstream.refresh(token).status == 400)
      #expect(try await upstream.counter("refreshTokenReuseDetected") == 1)
    }
  }

  @Test("Without rotation the same token stays good, named again or not, as switched", arguments: [true, false])
  func unrotated(repeats: Bool) async throws {
    let configuration = PlaygroundConfiguration(rotatesRefreshTokens: false, repeatsRefreshTokens: !repeats)
    try await Upstream.run(configuration) { upstream in
      _ = try await upstream.control("settings", #"{"repeatRefreshTokens": \#(repeats)}"#)
      let token = try await upstream.tokens()["refresh_token"]
      for _ in 0..<2 {
        let answer = try await upstream.refresh(token)
        #expect(answer.status == 200)
        #expect(answer.json["refresh_token"] == (repeats ? token : nil))
      }
    }
  }

  static let wrong: [([(String, String)], String)] = [
    ([("scope", "openid orders:write")], "invalid_scope"), ([("resource", "https://x.example")], "invalid_target"),
    ([("resource", "relative")], "invalid_target"),
  ]

  @Test("A request for too much leaves the refresh token as it was", arguments: wrong)
  func untouched(more: [(String, String)], error: String) async throws {
    try await Upstream.run { upstream in
      let token = try await upstream.tokens()["refresh_token"]
      #expect(try await upstream.refresh(token, "shop", more).json["error"]?.stringValue == error)
      #expect(try await upstream.refresh(token, "cli").json["error"] == "invalid_grant")
      let narrowed = try await upstream.refresh(token, "shop", [("scope", "orders")])
      #expect(narrowed.json["scope"] == "orders")
      #expect(narrowed.json["id_token"] == nil)
      #expect(try await upstream.refresh(narrowed.json["refresh_token"]).json["scope"] == "openid profile email orders")
    }
  }

  @Test("A refresh token lives for its time after it was issued, and no text that is none is taken for one")
  func expiry() async throws {
    try await Upstream.run(PlaygroundConfiguration(refreshTokenLifetime: .seconds(100))) { upstream in
      let first = try await upstream.tokens()["refresh_token"]
      upstream.clock.advance(by: .seconds(99))
      let second = try await upstream.refresh(first).json["refresh_token"]
      upstream.clock.advance(by: .seconds(99))
      let third = try await upstream.refresh(second).json["refresh_token"]
      upstream.clock.advance(by: .seconds(100))
      #expect(try await upstream.refresh(third).json["error"] == "invalid_grant")
      #expect(try await upstream.counter("refreshTokenReuseDetected") == 0)
      let text = try #require(third?.stringValue)
      let stem = text.split(separator: ".").dropLast().joined(separator: ".")
      for forged in [
        stem + ".AAAA", text + "A", stem, "..", "x.99999999999999999999.x", String(repeating: "a", count: 5000),
      ] {
        #expect(try await upstream.refresh(.string(forged)).json["error"] == "invalid_grant")
      }
    }
  }

  @Test("The token endpoint can issue and never answer: the records say that the answer did not go out")
  func dropped() async throws {
    try await Upstream.run { upstream in
      let token = try await upstream.tokens()["refresh_token"]
      try await upstream.setFaults(#"{"token": {"kind": "dropAfterIssue", "times": 1}}"#)
      #expect(try await upstream.rawRefresh(token).isEmpty)
      #expect(try await upstream.refresh(token).json["error"] == "invalid_grant")
      let family = try #require(
        try await upstream.send("GET", "/playground/families").json["families"]?.arrayValue?.first)
      #expect(family["clientId"] == "shop")
      #expect(family["revoked"]?.stringValue?.hasPrefix("reuse") == true)
      let tokens = try #require(family["tokens"]?.arrayValue)
      #expect(tokens.map { $0["number"] } == [1, 2])
      #expect(tokens.map { $0["answers"] } == [1, 1])
      #expect(tokens.map { $0["answersWritten"] } == [1, 0])
      #expect(tokens.map { $0["presented"] } == [2, 0])
      #expect(tokens[0]["token"]?.stringValue == Fingerprint.of(try #require(token?.stringValue)))
      #expect(try await upstream.counter("tokenAnswersSpoiled") == 1)
    }
  }

  @Test("An answer that is cut in the middle does not count as written")
  func cut() async throws {
    try await Upstream.run { upstream in
      let token = try await upstream.tokens()["refresh_token"]
      try await upstream.setFaults(#"{"token": {"kind": "cutAnswer", "times": 1}}"#)
      let response = try #require(try RawHTTP.responses(in: try await upstream.rawRefresh(token)).first)
      let announced = try #require(response["content-length"].first.flatMap { Int($0) })
      #expect(response.body.count == announced / 2)
      let family = try #require(
        try await upstream.send("GET", "/playground/families").json["families"]?.arrayValue?.first)
      #expect(family["tokens"]?.arrayValue?.map { $0["answersWritten"] } == [1, 0])
      let now = upstream.clock.wallNow.millisecondsSinceEpoch
      #expect(family["tokens"]?.arrayValue?.first?["lastPresentedAtMs"] == .integer(now))
      #expect(try await upstream.send("DELETE", "/playground/families").json == ["families": []])
      #expect(try await upstream.refresh(token).json["error"] == "invalid_grant")
    }
  }

  @Test("A slow answer is issued at once; a client that goes meanwhile never got it", .timeLimit(.minutes(1)))
  func slowAnswer() async throws {
    try await Upstream.run { upstream in
      let token = try await upstream.tokens()["refresh_token"]
      try await upstream.setFaults(#"{"token": {"kind": "slowAnswer", "delayMs": 5000, "times": 1}}"#)
      let request = try Upstream.rawRefresh(token)
      let clock = upstream.clock
      try await RawHTTP.abandon(port: upstream.port, request) {
        clock.sleeperCount > 0
      }
      while clock.sleeperCount > 0 { await Task.yield() }
      let family = try #require(
        try await upstream.send("GET", "/playground/families").json["families"]?.arrayValue?.first)
      #expect(family["tokens"]?.arrayValue?.map { $0["answersWritten"] } == [1, 0])
    }
  }
}
