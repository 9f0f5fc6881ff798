import Playground
import PlaygroundTestSupport
import PosternJSON
import Testing

@Suite struct StepUpTests {
  @Test(
    "A login that is too weak or too old is rejected with the requirement, and a better one is accepted (RFC 9470 section 3)"
  )
  func stepUp() async throws {
    try await Upstream.run { upstream in
      func open(_ token: JSONValue?, _ query: String = "") async throws -> RawHTTP.Response {
        try await upstream.send("GET", "/resource/vault" + query, bearer: try #require(token?.stringValue))
      }
      let weak = try await upstream.tokens()["access_token"]
      let rejected = try await open(weak)
      #expect(rejected.status == 401)
      let challenge = try #require(rejected["www-authenticate"].first)
      #expect(challenge.hasPrefix(#"Bearer realm="playground", error="insufficient_user_authentication""#))
      #expect(challenge.hasSuffix(#", acr_values="mfa""#))
      let strong = try await upstream.tokens("shop", ["acr_values": "mfa"])["access_token"]
      #expect(try await open(strong).status == 200)
      upstream.clock.advance(by: .seconds(31))
      #expect(try await open(strong, "?maxAge=31").status == 200)
      let old = try await open(strong, "?maxAge=30&acr=x+mfa")
      #expect(old["www-authenticate"].first?.hasSuffix(#", acr_values="x mfa", max_age="30""#) == true)
      #expect(try await open(.string(try await upstream.token()), "?maxAge=30").status == 401)
      let hostile = try await open(strong, "?acr=%22,%0d%0aX:y%22")
      #expect(hostile["www-authenticate"].first?.hasSuffix(#", acr_values=",X:y""#) == true)
      #expect(hostile["x"].isEmpty)
    }
  }
}
