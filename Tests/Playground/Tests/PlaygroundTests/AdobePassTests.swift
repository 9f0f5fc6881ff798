import Playground
import PlaygroundTestSupport
import PosternJSON
import PosternSupport
import Testing

/// The double of Adobe Pass: a registered client gets tokens, a token gets decisions, and the throttle applies.
@Suite struct AdobePassTests {
  private static let device = [
    (
      "X-Device-Info",
      Base64.string(Array(#"{"model":"m","version":"1","osName":"Linux","osVersion":"6","connectionType":"LAN"}"#.utf8))
    ),
    ("AP-Device-Identifier", "fingerprint ZGV2aWNl"),
  ]

  private static func register(_ upstream: Upstream, statement: String = "e30.e30.e30") async throws -> RawHTTP.Response
  {
    try await upstream.send(
      "POST", "/adobe/o/client/register", device + [("Content-Type", "application/json")],
      body: Array(#"{"software_statement":"\#(statement)"}"#.utf8))
  }

  private static func token(_ upstream: Upstream, _ client: JSONValue) async throws -> RawHTTP.Response {
    let form =
      "grant_type=client_credentials&client_id=\(client["client_id"]?.stringValue ?? "")"
      + "&client_secret=\(client["client_secret"]?.stringValue ?? "")"
    return try await upstream.send(
      "POST", "/adobe/o/client/token", device + [("Content-Type", "application/x-www-form-urlencoded")],
      body: Array(form.utf8))
  }

  private static func ask(
    _ upstream: Upstream, _ token: String, _ resources: String, from address: String = "192.0.2.1"
  ) async throws -> RawHTTP.Response {
    try await upstream.send(
      "POST", "/adobe/api/v2/REF30/decisions/preauthorize/mvpd",
      device + [
        ("Authorization", "Bearer \(token)"), ("Content-Type", "application/json"), ("X-Forwarded-For", address),
      ], body: Array(#"{"resources":\#(resources)}"#.utf8))
  }

  @Test("credentials and a token come with 201, and decisions by what the resources say")
  func decisions() async throws {
    try await Upstream.run { upstream in
      let client = try await Self.register(upstream)
      #expect(client.status == 201 && client.json["scopes"] == ["api:client:v2"])
      let granted = try await Self.token(upstream, client.json)
      #expect(granted.status == 201 && granted.json["expires_in"] == 21_600)
      #expect(granted.json["created_at"]?.integerValue == upstream.clock.wallNow.millisecondsSinceEpoch)
      let token = try #require(granted.json["access_token"]?.stringValue)
      let answer = try await Self.ask(upstream, token, #"["a","deny","spaced"]"#)
      let rows = try #require(answer.json["decisions"]?.arrayValue)
      #expect(rows.map { $0["authorized"] } == [true, false, true])
      #expect(rows[1]["error"]?["code"] == "preauthorization_denied_by_mvpd" && rows[2]["resource"] == "spaced ")
      #expect(try await Self.ask(upstream, token, "[]").json["code"] == "invalid_parameter_resources")
      #expect(try await Self.ask(upstream, token, #"["1","2","3","4","5","6"]"#).json["code"] == "too_many_resources")
    }
  }

  @Test("no statement, no client and no token are each rejected with their own error")
  func rejections() async throws {
    try await Upstream.run { upstream in
      #expect(try await Self.register(upstream, statement: "x").json["error"] == "invalid_software_statement")
      let stranger: JSONValue = ["client_id": "x", "client_secret": "y"]
      #expect(try await Self.token(upstream, stranger).json["error"] == "invalid_client")
      let client = try await Self.register(upstream).json
      let token = try #require(try await Self.token(upstream, client).json["access_token"]?.stringValue)
      #expect(try await Self.ask(upstream, "x", #"["a"]"#).json["code"] == "access_token_expired")
      _ = try await upstream.control("adobe", #"{"forgetClients":true,"errorShape":"error"}"#)
      let rejected = try await Self.ask(upstream, token, #"["a"]"#)
      #expect(rejected.status == 401)
      #expect(rejected.json["error"]?["code"] == "invalid_access_token_client_application")
      #expect(try await Self.token(upstream, client).json["error"] == "invalid_client")
    }
  }

  @Test("ten requests at once from each device, then one a second, with a page and without Retry-After")
  func throttle() async throws {
    try await Upstream.run { upstream in
      let client = try await Self.register(upstream).json
      let token = try #require(try await Self.token(upstream, client).json["access_token"]?.stringValue)
      for _ in 0..<10 { #expect(try await Self.ask(upstream, token, #"["a"]"#).status == 200) }
      let rejected = try await Self.ask(upstream, token, #"["a"]"#)
      #expect(rejected.status == 429 && rejected.text.contains("<html>") && rejected["retry-after"].isEmpty)
      #expect(try await Self.ask(upstream, token, #"["a"]"#, from: "192.0.2.2").status == 200)
      upstream.clock.advance(by: .seconds(1))
      #expect(try await Self.ask(upstream, token, #"["a"]"#).status == 200)
      #expect(try await Self.ask(upstream, token, #"["a"]"#).status == 429)
      #expect(try await upstream.counter("adobeThrottled") == 2)
    }
  }

  @Test("an unknown switch is rejected, and changes nothing")
  func switches() async throws {
    try await Upstream.run { upstream in
      for body in [#"{"next":["nothing"]}"#, #"{"errorShape":"odd"}"#, #"{"degradation":"x"}"#, #"{"other":1}"#, "[]"] {
        #expect(try await upstream.send("POST", "/playground/adobe", body: Array(body.utf8)).status == 400)
      }
      let shown = try await upstream.send("GET", "/playground/adobe").json
      #expect(shown["throttle"] == true && shown["next"] == [] && shown["degradation"] == .null)
    }
  }
}
