import PlaygroundTestSupport
import PosternJSON
import PosternSupport
import Testing

@testable import Playground

/// An application with a token at the double of Adobe Pass, on one device.
struct AdobePassApplication {
  let upstream: Upstream
  let token: String
  var device = "ZGV2aWNl"
  /// Headers of every request.
  var headers: [(String, String)] = []

  static let information = Base64.string(
    Array(#"{"model":"m","version":"1","osName":"Linux","osVersion":"6","connectionType":"LAN"}"#.utf8))
  static let login = [
    ("mvpd", "Cablevision"), ("domainName", "example.com"), ("redirectUrl", "https://example.com/done?a=1&b=2"),
  ]

  /// Registers an application; the throttle is off from then on.
  init(_ upstream: Upstream) async throws {
    self.upstream = upstream
    _ = try await upstream.control("adobe", #"{"throttle":false}"#)
    let fields = [("X-Device-Info", Self.information)]
    let client = try await upstream.send(
      "POST", "/adobe/o/client/register", fields + [("Content-Type", "application/json")],
      body: Array(#"{"software_statement":"e30.e30.e30"}"#.utf8)
    ).json
    let form = Upstream.form([
      ("grant_type", "client_credentials"), ("client_id", client["client_id"]?.stringValue ?? ""),
      ("client_secret", client["client_secret"]?.stringValue ?? ""),
    ])
    let granted = try await upstream.send(
      "POST", "/adobe/o/client/token", fields + [("Content-Type", "application/x-www-form-urlencoded")],
      body: Array(form.utf8))
    token = try #require(granted.json["access_token"]?.stringValue)
  }

  private var fields: [(String, String)] {
    [
      ("Authorization", "Bearer \(token)"), ("AP-Device-Identifier", "fingerprint \(device)"),
      ("X-Device-Info", Self.information),
    ] + headers
  }

  /// The same application with another header.
  func with(_ name: String, _ value: String) -> AdobePassApplication {
    var other = self
    other.headers.append((name, value))
    return other
  }

  /// The same application on another device.
  func on(device: String) -> AdobePassApplication {
    var other = self
    other.device = device
    return other
  }

  func get(_ path: String) async throws -> RawHTTP.Response {
    try await upstream.send("GET", "/adobe/api/v2/REF30/" + path, fields)
  }

  func post(_ path: String, _ form: [(String, String)]) async throws -> RawHTTP.Response {
    try await upstream.send(
      "POST", "/adobe/api/v2/REF30/" + path, fields + [("Content-Type", "application/x-www-form-urlencoded")],
      body: Array(Upstream.form(form).utf8))
  }

  /// Whether a form without parameters gets no answer.
  func unanswered(_ path: String) async throws -> Bool {
    let lines =
      fields + [
        ("Host", "localhost"), ("Content-Length", "0"), ("Content-Type", "application/x-www-form-urlencoded"),
      ]
    let head = lines.map { "\($0): \($1)\r\n" }.joined()
    let text = "POST /adobe/api/v2/REF30/\(path) HTTP/1.1\r\n\(head)\r\n"
    return try await RawHTTP.exchange(port: upstream.port, Array(text.utf8)).isEmpty
  }

  /// The decisions about `resources`.
  func decide(_ path: String, _ resources: String...) async throws -> [JSONValue] {
    let body = JSONWriter().write(["resources": .array(resources.map(JSONValue.string))])
    let response = try await upstream.send(
      "POST", "/adobe/api/v2/REF30/decisions/" + path,
      fields + [("Content-Type", "application/json;charset=utf-8")], body: body)
    return try #require(response.json["decisions"]?.arrayValue, "\(response.status) \(response.text)")
  }

  /// The error code of the only decision.
  func code(_ path: String, _ resource: String) async throws -> String? {
    try await decide(path, resource).first?["error"]?["code"]?.stringValue
  }

  /// Begins a session and finishes its login; the result is the code.
  func logIn(_ form: [(String, String)] = Self.login) async throws -> String {
    let code = try #require(try await post("sessions", form).json["code"]?.stringValue)
    _ = try await upstream.control("adobe", #"{"login":{"code":"\#(code)"}}"#)
    return code
  }

  /// The types of the profiles at `path`, by MVPD.
  func types(_ path: String) async throws -> [String: String] {
    let response = try await get(path)
    let profiles = try #require(response.json["profiles"]?.objectValue, "\(response.status) \(response.text)")
    return Dictionary(uniqueKeysWithValues: profiles.members.map { ($0.name, $0.value["type"]?.stringValue ?? "") })
  }

  /// A status of the partner's framework in base64.
  static func status(
    _ access: String = "granted", provider: String = "partner-spectrum", until end: String = "9999999999999"
  ) -> String {
    let json =
      #"{"frameworkPermissionInfo":{"accessStatus":"\#(access)"},"#
      + #""frameworkProviderInfo":{"id":"\#(provider)","expirationDate":"\#(end)"}}"#
    return Base64.string(Array(json.utf8))
  }

  /// An unverified JWS about `subject`.
  static func jws(_ subject: String) -> String {
    "e30." + Base64URL.string(Array(#"{"sub":"\#(subject)"}"#.utf8)) + ".c2ln"
  }
}
