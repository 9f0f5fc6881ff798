import JOSE
import PosternCrypto
import PosternJSON
import PosternSupport
import Testing

@testable import Playground

/// A user's browser: it keeps the provider's cookie.
final class Browser: Sendable {
  let upstream: Upstream
  private let cookie = Locked<String?>(nil)

  init(_ upstream: Upstream) { self.upstream = upstream }

  /// Opens a page.
  func get(_ target: String) async throws -> RawHTTP.Response {
    try await keeping(upstream.send("GET", target, fields))
  }

  /// Posts a form.
  func post(_ target: String, _ form: [(String, String)]) async throws -> RawHTTP.Response {
    let fields = fields + [("Content-Type", "application/x-www-form-urlencoded")]
    return try await keeping(upstream.send("POST", target, fields, body: Array(Upstream.form(form).utf8)))
  }

  /// Fills in the login page that `response` is.
  func signIn(
    at page: RawHTTP.Response, as user: String = "alice", password: String? = nil, also: [(String, String)] = []
  ) async throws -> RawHTTP.Response {
    let transaction = try #require(page.hidden("transaction"), "\(page.status) \(page.text)")
    let form = [("transaction", transaction), ("username", user), ("password", password ?? user + "-password")]
    return try await post("/oidc/login", form + also)
  }

  private var fields: [(String, String)] { cookie.withLock { $0 }.map { [("Cookie", "other=1; " + $0)] } ?? [] }

  private func keeping(_ response: RawHTTP.Response) -> RawHTTP.Response {
    if let set = response["set-cookie"].first { cookie.withLock { $0 = String(set.prefix { $0 != ";" }) } }
    return response
  }
}

extension RawHTTP.Response {
  /// The value of a hidden field of the page.
  func hidden(_ name: String) -> String? {
    guard let start = text.firstRange(of: "name=\"\(name)\" value=\"") else { return nil }
    return String(text[start.upperBound...].prefix { $0 != "\"" })
  }

  /// The parameters a redirect carries, from its query or fragment.
  var redirected: [String: String] {
    guard let location = self["location"].first, let mark = location.firstIndex(where: { $0 == "?" || $0 == "#" })
    else {
      return [:]
    }
    let parsed = FormParameters(parsing: Array(location[location.index(after: mark)...].utf8))
    return Dictionary((parsed?.all ?? []).map { ($0.name, $0.value) }) { $1 }
  }
}

extension Upstream {
  static let verifier = String(repeating: "v", count: 43)
  static let redirectURI = "http://127.0.0.1:4711/callback"

  /// A form of these parameters.
  static func form(_ parameters: [(String, String)]) -> String {
    parameters.map { "\($0)=\(PercentCoding.encode($1))" }.joined(separator: "&")
  }

  /// An authorization request that is in order; `changes` replaces parameters, nil leaves one out.
  static func request(_ client: String = "shop", _ changes: [String: String?] = [:]) -> [(String, String)] {
    var parameters: [(String, String)] = [
      ("client_id", client), ("redirect_uri", redirectURI), ("response_type", "code"), ("state", "s t&te"),
      ("scope", "openid profile email orders"), ("nonce", "n-1"), ("code_challenge", PKCE.challenge(of: verifier)),
      ("code_challenge_method", "S256"),
    ]
    for (name, value) in changes.sorted(by: { $0.key < $1.key }) {
      parameters.removeAll { $0.0 == name }
      if let value { parameters.append((name, value)) }
    }
    return parameters
  }

  /// Opens the authorization endpoint.
  func authorize(
    _ client: String = "shop", _ changes: [String: String?] = [:], in browser: Browser? = nil
  ) async throws -> RawHTTP.Response {
    try await (browser ?? Browser(self)).get("/oidc/authorize?" + Self.form(Self.request(client, changes)))
  }

  /// A code for alice.
  func code(
    _ client: String = "shop", _ changes: [String: String?] = [:], in browser: Browser? = nil
  ) async throws -> String {
    let browser = browser ?? Browser(self)
    let response = try await browser.signIn(at: authorize(client, changes, in: browser))
    return try #require(response.redirected["code"], "\(response.status) \(response.text)")
  }

  /// Redeems a code; `changes` as for `request`.
  func redeem(
    _ code: String, _ client: String = "shop", _ changes: [String: String?] = [:], _ headers: [(String, String)] = []
  ) async throws -> RawHTTP.Response {
    var form: [(String, String)] = [
      ("grant_type", "authorization_code"), ("code", code), ("redirect_uri", Self.redirectURI),
      ("code_verifier", Self.verifier),
    ]
    for (name, value) in changes {
      form.removeAll { $0.0 == name }
      if let value { form.append((name, value)) }
    }
    return try await tokenRequest(form, client, headers)
  }

  /// A token request of one of the built-in clients with users.
  func tokenRequest(
    _ form: [(String, String)], _ client: String = "shop", _ headers: [(String, String)] = []
  ) async throws -> RawHTTP.Response {
    try await call("/oidc/token", form, client, headers)
  }

  /// A form posted by one of the built-in clients.
  func call(
    _ path: String, _ form: [(String, String)], _ client: String = "shop", _ headers: [(String, String)] = []
  ) async throws -> RawHTTP.Response {
    var form = form
    if client == "shop" { form += [("client_id", "shop"), ("client_secret", "shopsecret")] }
    if client == "svc" { form += [("client_id", "svc"), ("client_secret", "svcsecret")] }
    if client == "cli" || client == "dpopclient" { form.append(("client_id", client)) }
    let fields = headers + [("Content-Type", "application/x-www-form-urlencoded")]
    return try await send("POST", path, fields, body: Array(Self.form(form).utf8))
  }

  /// The tokens of a whole sign-in.
  func tokens(_ client: String = "shop", _ changes: [String: String?] = [:]) async throws -> JSONValue {
    let response = try await redeem(try await code(client, changes), client)
    #expect(response.status == 200, "\(response.text)")
    return response.json
  }

  /// Uses a refresh token.
  func refresh(
    _ token: JSONValue?, _ client: String = "shop", _ more: [(String, String)] = [], _ headers: [(String, String)] = []
  ) async throws -> RawHTTP.Response {
    let text = try #require(token?.stringValue)
    return try await tokenRequest([("grant_type", "refresh_token"), ("refresh_token", text)] + more, client, headers)
  }

  /// A refresh request of `shop` as text.
  static func rawRefresh(_ token: JSONValue?) throws -> String {
    let text = try #require(token?.stringValue)
    let body = form([
      ("grant_type", "refresh_token"), ("refresh_token", text), ("client_id", "shop"), ("client_secret", "shopsecret"),
    ])
    return "POST /oidc/token HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
      + "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: \(body.utf8.count)\r\n\r\n" + body
  }

  /// Everything that comes back for it until the connection ends.
  func rawRefresh(_ token: JSONValue?) async throws -> [UInt8] {
    try await RawHTTP.exchange(port: port, Array(try Self.rawRefresh(token).utf8))
  }

  /// The claims of a token, once its signature has been verified with the published keys.
  func claims(_ token: JSONValue?) async throws -> (header: JOSEHeader, claims: JSONObject) {
    let parsed = try CompactJWS(try #require(token?.stringValue))
    let set = try JWKSet(json: try await send("GET", "/oidc/jwks").json, origin: .remote)
    let algorithm = try parsed.algorithm(allowed: SignatureAlgorithm.asymmetric)
    let key = try set.verificationKey(for: parsed.header, algorithm: algorithm)
    try parsed.verifiedPayload(with: key, algorithm: algorithm)
    return (parsed.header, try parsed.unverifiedClaims())
  }

  /// A control request.
  func control(_ path: String, _ json: String) async throws -> RawHTTP.Response {
    let response = try await send("POST", "/playground/" + path, body: Array(json.utf8))
    #expect(response.status == 200, "\(response.text)")
    return response
  }
}

extension Upstream {
  /// The left half of SHA-256, as `at_hash` and `c_hash` of RS256 and ES256 have it.
  static func leftHalfHash(of text: String) -> String {
    Base64URL.string(Array(HashFunction.sha256.hash(Array(text.utf8))[..<16]))
  }

  /// SHA-256 in Base64, as content security policies have it.
  static func sha256Base64(_ text: String) -> String {
    Base64.string(HashFunction.sha256.hash(Array(text.utf8)))
  }
}
