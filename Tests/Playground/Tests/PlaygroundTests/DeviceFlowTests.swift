import Playground
import PlaygroundTestSupport
import PosternJSON
import PosternSupport
import Testing

@Suite struct DeviceFlowTests {
  private static let grant = "urn:ietf:params:oauth:grant-type:device_code"

  private static func start(_ upstream: Upstream, _ client: String = "cli") async throws -> JSONValue {
    let response = try await upstream.call("/oidc/device_authorization", [("scope", "openid orders")], client)
    #expect(response.status == 200, "\(response.text)")
    return response.json
  }

  private static func poll(
    _ upstream: Upstream, _ device: JSONValue, _ client: String = "cli"
  ) async throws -> RawHTTP.Response {
    let code = try #require(device["device_code"]?.stringValue)
    return try await upstream.tokenRequest([("grant_type", grant), ("device_code", code)], client)
  }

  @Test("A device gets its tokens once the user has typed in the code, in whatever spelling")
  func approved() async throws {
    try await Upstream.run { upstream in
      let device = try await Self.start(upstream)
      #expect(device["interval"] == 5)
      #expect(device["expires_in"] == 600)
      #expect(device["verification_uri"]?.stringValue == upstream.server.issuer + "/device")
      #expect(try await Self.poll(upstream, device).json["error"] == "authorization_pending")
      let code = try #require(device["user_code"]?.stringValue)
      let page = try await upstream.send("GET", "/oidc/device?user_code=" + code)
      #expect(page.text.contains("value=\"\(code)\""))
      let typed = code.lowercased().filter { $0 != "-" }
      let form = [("user_code", typed), ("username", "bob"), ("password", "bob-password")]
      #expect(try await Browser(upstream).post("/oidc/device", form).status == 200)
      upstream.clock.advance(by: .seconds(5))
      let tokens = try await Self.poll(upstream, device)
      #expect(tokens.status == 200)
      #expect(try await upstream.claims(tokens.json["id_token"]).claims["sub"] == "user-1002")
      #expect(try await upstream.refresh(tokens.json["refresh_token"], "cli").status == 200)
      upstream.clock.advance(by: .seconds(5))
      #expect(try await Self.poll(upstream, device).json["error"] == "invalid_grant")
    }
  }

  @Test("A client that polls too early must wait five seconds longer each time (RFC 8628 section 3.5)")
  func slowDown() async throws {
    try await Upstream.run { upstream in
      let device = try await Self.start(upstream)
      for (pause, error) in [
        (0, "authorization_pending"), (5, "authorization_pending"), (4, "slow_down"), (9, "slow_down"),
        (14, "slow_down"), (20, "authorization_pending"), (19, "slow_down"),
      ] {
        upstream.clock.advance(by: .seconds(pause))
        #expect(try await Self.poll(upstream, device).json["error"]?.stringValue == error)
      }
    }
  }

  @Test("A device code ends after its time, and belongs to one client")
  func ended() async throws {
    try await Upstream.run { upstream in
      let device = try await Self.start(upstream)
      #expect(try await Self.poll(upstream, device, "shop").json["error"] == "invalid_grant")
      upstream.clock.advance(by: .seconds(600))
      #expect(try await Self.poll(upstream, device).json["error"] == "expired_token")
      let code = try #require(device["user_code"]?.stringValue)
      let form = [("user_code", code), ("username", "bob"), ("password", "bob-password")]
      #expect(try await Browser(upstream).post("/oidc/device", form).status == 403)
      #expect(try await Self.poll(upstream, ["device_code": "unknown"]).json["error"] == "invalid_grant")
    }
  }

  @Test("A rejection, on the page or by the control endpoint, reaches the device; a decision is final")
  func denied() async throws {
    try await Upstream.run { upstream in
      let device = try await Self.start(upstream)
      let code = try #require(device["user_code"]?.stringValue)
      var form = [("user_code", code), ("username", "bob"), ("password", "wrong"), ("action", "deny")]
      #expect(try await Browser(upstream).post("/oidc/device", form).status == 403)
      form[2].1 = "bob-password"
      #expect(try await Browser(upstream).post("/oidc/device", form).status == 200)
      #expect(try await Self.poll(upstream, device).json["error"] == "access_denied")
      let late = try await upstream.send(
        "POST", "/playground/device", body: Array(#"{"userCode": "\#(code)", "user": "bob"}"#.utf8))
      #expect(late.status == 404)
      let other = try await Self.start(upstream, "shop")
      let otherCode = try #require(other["user_code"]?.stringValue)
      _ = try await upstream.control("device", #"{"userCode": "\#(otherCode)", "user": "alice"}"#)
      #expect(try await Self.poll(upstream, other, "shop").status == 200)
    }
  }

  @Test("Clients that may not, unknown scopes and forms without a code are rejected")
  func rejections() async throws {
    try await Upstream.run { upstream in
      let path = "/oidc/device_authorization"
      let rejected = try await upstream.call(path, [], "svc")
      #expect(rejected.json["error"] == "unauthorized_client")
      #expect(try await upstream.call(path, [("scope", "unheard")], "cli").json["error"] == "invalid_scope")
      #expect(try await upstream.call(path, [("client_id", "unknown")], "").status == 401)
      #expect(try await Browser(upstream).post("/oidc/device", []).status == 400)
      #expect(try await upstream.counter("deviceAuthorizationRequests") == 3)
    }
  }
}
