import PlaygroundTestSupport
import PosternJSON
import PosternSupport
import Testing

@testable import Playground

/// A playground that runs for one test, on a clock the test moves.
struct Upstream: Sendable {
  /// Made once for all tests: RSA keys take a while.
  private static let keys = Result { try SigningKeys() }

  let server: PlaygroundServer
  let clock: ManualClock

  /// Starts a playground, hands it to `body`, and stops it whatever happens.
  static func run(
    _ configuration: PlaygroundConfiguration = PlaygroundConfiguration(),
    _ body: (Upstream) async throws -> Void
  ) async throws {
    let clock = ManualClock()
    let server = try await PlaygroundServer.start(
      configuration, clock: clock, keys: SigningKeys(copying: try keys.get()))
    do {
      try await body(Upstream(server: server, clock: clock))
    } catch {
      await server.stop()
      throw error
    }
    await server.stop()
  }

  /// The port it listens on.
  var port: Int { Int(server.baseURL.split(separator: ":").last ?? "") ?? 0 }

  /// One request on a connection of its own.
  func send(
    _ method: String = "GET", _ target: String, _ headers: [(String, String)] = [], body: [UInt8] = []
  ) async throws -> RawHTTP.Response {
    var text = "\(method) \(target) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
    for (name, value) in headers { text += "\(name): \(value)\r\n" }
    if !body.isEmpty || method == "POST" { text += "Content-Length: \(body.count)\r\n" }
    let received = try await RawHTTP.exchange(port: port, Array((text + "\r\n").utf8) + body)
    return try #require(try RawHTTP.responses(in: received, toHEAD: method == "HEAD").last)
  }

  /// One form posted to `target`, with HTTP Basic of `basic` unchanged.
  func post(_ target: String, _ form: String, basic: String? = "svc:svcsecret") async throws -> RawHTTP.Response {
    var headers = [("Content-Type", "application/x-www-form-urlencoded")]
    if let basic { headers.append(("Authorization", "Basic " + Base64.string(Array(basic.utf8)))) }
    return try await send("POST", target, headers, body: Array(form.utf8))
  }

  /// A fresh access token.
  func token(_ form: String = "", basic: String = "svc:svcsecret") async throws -> String {
    let response = try await post("/oidc/token", "grant_type=client_credentials&" + form, basic: basic)
    return try #require(response.json["access_token"]?.stringValue, "\(response.status) \(response.text)")
  }

  /// One request with `token` as bearer token.
  func send(_ method: String = "GET", _ target: String, bearer token: String) async throws -> RawHTTP.Response {
    try await send(method, target, [("Authorization", "Bearer " + token)])
  }

  /// Switches faults.
  func setFaults(_ json: String) async throws {
    let response = try await send("POST", "/playground/faults", body: Array(json.utf8))
    #expect(response.status == 200, "\(response.text)")
  }

  /// One counter of the statistics.
  func counter(_ name: String) async throws -> Int64? {
    try await send("GET", "/playground/statistics").json[name]?.integerValue
  }
}
