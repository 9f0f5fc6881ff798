import AuthEngine
import HTTPMessages
import PosternJSON
import PosternObservability
import PosternSupport
import PosternTestSupport
import Sidecar
import Testing

/// A sidecar with two of everything, and two processes of one uid: the rule of one of them shows half of it.
struct PeerScopeBench: Sendable {
  static let yaml = """
    tokens: { leaveTheSidecar: true }
    peers:
      - { uid: 7, gid: 20, methods: ["*"], resources: [mine, mine-too, plain, twin, wide, more, less], issuers: [own], preauthorization: [films] }
      - { uid: 7, gid: 21, methods: ["*"], resources: [mine] }
      - { uid: 7, methods: ["*"] }
    issuers:
      own:
        issuer: "https://own.test"
        clientId: c
        clientSecret: s
        redirectUri: "https://app.test/own"
        accessManager: { baseUrl: "https://am.test/own", realm: alpha, cookieName: a }
        endpoints: { token: "https://own.test/token", authorization: "https://own.test/authorize", jwks: "https://own.test/keys",
          deviceAuthorization: "https://own.test/device", introspection: "https://own.test/introspect", revocation: "https://own.test/revoke" }
      other:
        issuer: "https://other.test"
        clientId: c
        clientSecret: s
        redirectUri: "https://app.test/cb"
        accessManager: { baseUrl: "https://am.test/other", realm: alpha, cookieName: b }
        endpoints: { token: "https://other.test/token", authorization: "https://other.test/authorize", jwks: "https://other.test/keys",
          deviceAuthorization: "https://other.test/device", introspection: "https://other.test/introspect", revocation: "https://other.test/revoke" }
    resources:
      mine: { baseUrl: "https://mine.test/", issuer: own, auth: clientCredentials, scope: "mine:read", limits: { concurrency: 2 } }
      mine-too: { baseUrl: "https://mine.test/too/", issuer: other, auth: clientCredentials, scope: "too:read" }
      plain: { baseUrl: "https://plain.test/", issuer: own, auth: clientCredentials }
      twin: { baseUrl: "https://twin.test/", issuer: own, auth: clientCredentials, scope: "a b" }
      wide: { baseUrl: "https://wide.test/", issuer: own, auth: clientCredentials, scope: "c b a" }
      more: { baseUrl: "https://more.test/", issuer: own, auth: clientCredentials, scope: "more" }
      less: { baseUrl: "https://less.test/", issuer: own, auth: clientCredentials, scope: "less:read less:write" }
      hidden: { baseUrl: "https://hidden.test/", issuer: other, auth: clientCredentials, scope: "hidden:read", limits: { concurrency: 2 } }
      hidden-twin: { baseUrl: "https://hidden.test/twin/", issuer: own, auth: clientCredentials, scope: "b a" }
      hidden-user: { baseUrl: "https://hidden.test/user/", issuer: own, auth: user }
    preauthorization:
      films: { kind: authzen, baseUrl: "https://films.test", issuer: own }
      news: { kind: authzen, baseUrl: "https://news.test", issuer: own }
    """

  let bench: SidecarBench
  /// Sees everything.
  let whole: BenchConnection
  /// Sees what its rule shows.
  let part: BenchConnection

  init() throws {
    bench = try SidecarBench(Self.yaml) { request, _ async throws(TransportError) in Self.answer(request) }
    whole = bench.connect(uid: 7, gid: 1)
    part = bench.connect(uid: 7, gid: 20)
  }

  private static func answer(_ request: HTTPRequest) -> HTTPResponse {
    switch (request.url.origin.host, request.url.path) {
    case (_, "/token"):
      let form = FormEncoding.decode(String(decoding: request.body ?? [], as: UTF8.self)) ?? []
      let scope = form.first { $0.name == "scope" }?.value ?? "all"
      let token = "token-for-\(scope.split(separator: " ").sorted().joined(separator: "+"))"
      // One scope is granted with others that were not requested, one is granted in part.
      let given = ["more": "more b a", "less:read less:write": "less:read"][scope]
      let member = given.map { #","scope":"\#($0)""# } ?? ""
      return json(#"{"access_token":"\#(token)","token_type":"Bearer","expires_in":600\#(member)}"#)
    case (let host, "/device"):
      return json(
        #"{"device_code":"d","user_code":"u","verification_uri":"https://\#(host)/go","expires_in":600,"interval":1}"#)
    case ("hidden.test", "/user/pay"):
      return HTTPResponse(
        status: 403, body: Array(#"{"advices":{"AuthenticateToServiceConditionAdvice":["Confirm"]}}"#.utf8))
    case ("mine.test", _), ("hidden.test", _): return HTTPResponse(status: 200)
    default: return HTTPResponse(status: 404)
    }
  }

  private static func json(_ text: String) -> HTTPResponse {
    HTTPResponse(
      status: 200, fields: HTTPFields([.init(name: "Content-Type", value: "application/json")]),
      body: Array(text.utf8))
  }

  /// A user's session at `issuer`, made by the process that sees everything.
  func session(at issuer: String) async throws -> JSONValue {
    let grant: JSONValue = ["type": "tokens", "accessToken": "users-token", "expiresIn": 3600]
    let made = await whole.call("createSession", ["issuer": .string(issuer), "grant": grant])
    return try #require(made["result"]?["session"], "\(made)")
  }

  /// The answer to the one that sees a part, without what is of the call alone.
  func answer(_ method: String, _ params: JSONValue?) async -> JSONValue {
    var answer = await part.call(method, params).objectValue ?? JSONObject()
    answer["id"] = nil
    guard var error = answer["error"]?.objectValue, var data = error["data"]?.objectValue else {
      return .object(answer)
    }
    data["traceId"] = nil
    error["data"] = .object(data)
    answer["error"] = .object(error)
    return .object(answer)
  }
}
