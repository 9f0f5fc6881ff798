import Playground
import PlaygroundTestSupport
import PosternJSON
import PosternSupport
import Testing

@Suite struct TokenEndpointTests {
  @Test("A token answer has the members of RFC 6749 section 5.1 and is never cached")
  func answer() async throws {
    try await Upstream.run { upstream in
      let response = try await upstream.post("/oidc/token", "grant_type=client_credentials&scope=orders")
      #expect(response.status == 200)
      #expect(response.json["token_type"] == "Bearer")
      #expect(response.json["expires_in"] == 60)
      #expect(response.json["scope"] == "orders")
      #expect(response["cache-control"] == ["no-store"])
      #expect(response["pragma"] == ["no-cache"])
    }
  }

  @Test("An access token has the header and claims of RFC 9068 section 2")
  func claims() async throws {
    try await Upstream.run { upstream in
      let parts = try await upstream.token("scope=orders").split(separator: ".").map(String.init)
      let header = try JSONParser().parse(try #require(Base64URL.decode(parts[0])))
      let claims = try JSONParser().parse(try #require(Base64URL.decode(parts[1])))
      #expect(header["typ"] == "at+jwt")
      #expect(header["alg"] == "RS256")
      let keys = try await upstream.send("GET", "/oidc/jwks").json["keys"]?.arrayValue
      #expect(header["kid"] == keys?.first?["kid"])
      let now = upstream.clock.wallNow.secondsSinceEpoch
      #expect(claims["iss"]?.stringValue == upstream.server.issuer)
      #expect(claims["aud"]?.stringValue == upstream.server.baseURL + "/resource")
      #expect(claims["sub"] == "svc")
      #expect(claims["client_id"] == "svc")
      #expect(claims["scope"] == "orders")
      #expect(claims["iat"] == .integer(now))
      #expect(claims["exp"] == .integer(now + 60))
      #expect(claims["jti"]?.stringValue?.isEmpty == false)
    }
  }

  struct Credentials: Sendable, CustomStringConvertible {
    let description: String
    var basic: String?
    var form = ""
    var error: String?
    var status: Int { error == nil ? 200 : (error == "invalid_client" ? 401 : 400) }
  }

  static let credentials = [
    Credentials(description: "basic", basic: "svc:svcsecret"),
    Credentials(description: "post", form: "client_id=svc&client_secret=svcsecret"),
    Credentials(description: "basic, form-encoded halves", basic: "odd%3Aclient%2B1:p%40ss+word%2F%25%26%2B%C3%A9"),
    Credentials(description: "basic with %20", basic: "odd%3aclient%2b1:p%40ss%20word%2f%25%26%2b%c3%a9"),
    Credentials(
      description: "post of the odd client", form: "client_id=odd:client%2B1&client_secret=p%40ss+word/%25%26%2B%C3%A9"),
    Credentials(description: "basic, not form-encoded", basic: "odd:client+1:p@ss word/%&+é", error: "invalid_client"),
    Credentials(
      description: "basic, plus left alone", basic: "odd%3Aclient+1:p%40ss+word%2F%25%26%2B%C3%A9",
      error: "invalid_client"),
    Credentials(description: "wrong secret", basic: "svc:wrong", error: "invalid_client"),
    Credentials(description: "unknown client", basic: "unknown:svcsecret", error: "invalid_client"),
    Credentials(description: "no secret", form: "client_id=svc", error: "invalid_client"),
    Credentials(description: "nothing", error: "invalid_client"),
    Credentials(description: "no colon", basic: "svc", error: "invalid_client"),
    Credentials(description: "malformed escape", basic: "svc%2:svcsecret", error: "invalid_client"),
    Credentials(
      description: "both", basic: "svc:svcsecret", form: "client_id=svc&client_secret=svcsecret",
      error: "invalid_request"),
    Credentials(description: "basic and the same client_id", basic: "svc:svcsecret", form: "client_id=svc"),
    Credentials(
      description: "basic and another client_id", basic: "svc:svcsecret", form: "client_id=other",
      error: "invalid_request"),
  ]

  @Test("Client authentication accepts exactly what RFC 6749 section 2.3.1 describes", arguments: credentials)
  func authentication(_ given: Credentials) async throws {
    try await Upstream.run { upstream in
      let form = "grant_type=client_credentials&" + given.form
      let response = try await upstream.post("/oidc/token", form, basic: given.basic)
      #expect(response.status == given.status)
      #expect(response.json["error"]?.stringValue == given.error)
      let challenge = response["www-authenticate"].first
      #expect((challenge?.hasPrefix("Basic ") == true) == (given.error == "invalid_client"))
      #expect(response["cache-control"] == ["no-store"])
    }
  }

  @Test(
    "Faulty token requests get the error RFC 6749 section 5.2 and RFC 8707 section 2 name",
    arguments: [
      ("", "invalid_request"),
      ("grant_type=", "invalid_request"),
      ("grant_type=password", "unsupported_grant_type"),
      ("grant_type=client_credentials&grant_type=client_credentials", "invalid_request"),
      ("grant_type=client_credentials&scope=orders+unheard", "invalid_scope"),
      ("grant_type=client_credentials&scope=+", "invalid_scope"),
      ("grant_type=client_credentials&resource=relative/path", "invalid_target"),
      ("grant_type=client_credentials&resource=https://a.example/%23fragment", "invalid_target"),
      ("grant_type=client_credentials&scope=%zz", "invalid_request"),
      ("grant_type=client_credentials&scope=%ff", "invalid_request"),
    ])
  func rejections(form: String, error: String) async throws {
    try await Upstream.run { upstream in
      let response = try await upstream.post("/oidc/token", form)
      #expect(response.status == 400)
      #expect(response.json["error"]?.stringValue == error)
    }
  }

  @Test("A token request that is not a POST, or not a form, is rejected")
  func shape() async throws {
    try await Upstream.run { upstream in
      let get = try await upstream.send("GET", "/oidc/token?grant_type=client_credentials")
      #expect(get.status == 405)
      #expect(get["allow"] == ["POST"])
      let json = try await upstream.send(
        "POST", "/oidc/token", [("Content-Type", "application/json")], body: Array(#"{"grant_type":"x"}"#.utf8))
      #expect(json.json["error"] == "invalid_request")
    }
  }

  @Test(
    "Requested audiences, by either parameter and several of them, end in aud",
    arguments: [
      ("audience=https://api.example", ["https://api.example"]),
      ("resource=https://api.example/a", ["https://api.example/a"]),
      (
        "resource=https://a.example&resource=https://b.example&audience=c",
        ["https://a.example", "https://b.example", "c"]
      ),
    ])
  func audiences(form: String, expected: [String]) async throws {
    try await Upstream.run { upstream in
      let parts = try await upstream.token(form).split(separator: ".").map(String.init)
      let claims = try JSONParser().parse(try #require(Base64URL.decode(parts[1])))
      let audience = claims["aud"]?.arrayValue?.compactMap(\.stringValue) ?? claims["aud"]?.stringValue.map { [$0] }
      #expect(audience == expected)
    }
  }

  @Test("A client that is limited to one method of authentication is rejected by the other")
  func limitedClient() async throws {
    let client = PlaygroundClient(id: "only-post", secret: "s", authentication: [.post])
    try await Upstream.run(PlaygroundConfiguration(clients: [client])) { upstream in
      let form = "grant_type=client_credentials"
      #expect(try await upstream.post("/oidc/token", form, basic: "only-post:s").status == 401)
      let posted = try await upstream.post("/oidc/token", form + "&client_id=only-post&client_secret=s", basic: nil)
      #expect(posted.status == 200)
    }
  }
}
