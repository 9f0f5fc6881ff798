import Playground
import PlaygroundTestSupport
import PosternJSON
import PosternSupport
import Testing

@Suite struct ResourceServerTests {
  @Test("Without a token the challenge names no error (RFC 6750 section 3.1), with a bad one invalid_token")
  func challenges() async throws {
    try await Upstream.run { upstream in
      let none = try await upstream.send("GET", "/resource/orders")
      #expect(none.status == 401)
      #expect(none["www-authenticate"] == [#"Bearer realm="playground", scope="orders""#])
      let basic = try await upstream.send("GET", "/resource/echo", [("Authorization", "Basic c3ZjOng=")])
      #expect(basic["www-authenticate"] == [#"Bearer realm="playground""#])
      let empty = try await upstream.send("GET", "/resource/orders", [("Authorization", "Bearer")])
      #expect(empty.status == 400)
      let bad = try await upstream.send("GET", "/resource/orders", bearer: "not-a-token")
      #expect(bad.status == 401)
      #expect(bad["www-authenticate"].first?.contains(#"error="invalid_token""#) == true)
      let two = [("Authorization", "Bearer a"), ("Authorization", "Bearer b")]
      #expect(try await upstream.send("GET", "/resource/orders", two).status == 400)
    }
  }

  @Test("A token is good for exactly its lifetime")
  func expiry() async throws {
    try await Upstream.run(PlaygroundConfiguration(accessTokenLifetime: .seconds(5))) { upstream in
      let token = try await upstream.token()
      upstream.clock.advance(by: .milliseconds(4999))
      #expect(try await upstream.send("GET", "/resource/orders", bearer: token).status == 200)
      upstream.clock.advance(by: .milliseconds(1))
      let late = try await upstream.send("GET", "/resource/orders", bearer: token)
      #expect(late.status == 401)
      #expect(late["www-authenticate"].first?.contains("expired") == true)
    }
  }

  @Test("A token requested between two seconds lives at least as long as its expires_in")
  func roundedExpiry() async throws {
    try await Upstream.run(PlaygroundConfiguration(accessTokenLifetime: .seconds(5))) { upstream in
      upstream.clock.advance(by: .milliseconds(999))
      let token = try await upstream.token()
      upstream.clock.advance(by: .milliseconds(4999))
      #expect(try await upstream.send("GET", "/resource/orders", bearer: token).status == 200)
      upstream.clock.advance(by: .milliseconds(1000))
      #expect(try await upstream.send("GET", "/resource/orders", bearer: token).status == 401)
    }
  }

  @Test("A token for another audience or without the scope does not open the resource")
  func audienceAndScope() async throws {
    try await Upstream.run { upstream in
      let elsewhere = try await upstream.token("audience=https://elsewhere.example")
      #expect(try await upstream.send("GET", "/resource/orders", bearer: elsewhere).status == 401)
      let here = try await upstream.token("resource=\(upstream.server.baseURL)/resource")
      #expect(try await upstream.send("GET", "/resource/orders", bearer: here).status == 200)
      let poor = try await upstream.token("scope=profile")
      let rejected = try await upstream.send("GET", "/resource/orders", bearer: poor)
      #expect(rejected.status == 403)
      #expect(rejected["www-authenticate"].first?.contains(#"error="insufficient_scope""#) == true)
      #expect(try await upstream.send("GET", "/resource/echo", bearer: poor).status == 200)
    }
  }

  @Test("A token with any one character of its signature or claims changed is rejected; so is one signed as none")
  func forgery() async throws {
    try await Upstream.run { upstream in
      let token = try await upstream.token()
      let parts = token.split(separator: ".").map(String.init)
      let middle = Array(parts[1])
      let changed = String(middle.enumerated().map { $0.offset == 12 ? ($0.element == "A" ? "B" : "A") : $0.element })
      let header = Base64URL.string(Array(#"{"alg":"none","typ":"at+jwt"}"#.utf8))
      let forged = [
        "\(parts[0]).\(changed).\(parts[2])",
        "\(parts[0]).\(parts[1]).\(parts[2].dropFirst(4))AAAA",
        "\(parts[0]).\(parts[1]).",
        "\(header).\(parts[1]).",
        "\(parts[0]).\(parts[1])",
        String(repeating: ".", count: 1000),
      ]
      for token in forged {
        #expect(try await upstream.send("GET", "/resource/orders", bearer: token).status == 401)
      }
    }
  }

  @Test("A slow answer checks the token again at its end, so that a late 401 can be had", .timeLimit(.minutes(1)))
  func lateRejection() async throws {
    try await Upstream.run { upstream in
      let token = try await upstream.token()
      async let answer = upstream.send("GET", "/resource/slow?ms=500", bearer: token)
      while upstream.clock.sleeperCount == 0 { await Task.yield() }
      try await upstream.setFaults(#"{"revokeTokens": true}"#)
      upstream.clock.advance(by: .milliseconds(500))
      #expect(try await answer.status == 401)
    }
  }
}
