import AuthEngine
import EngineTestSupport
import HTTPMessages
import JOSE
import PosternJSON
import PosternSupport
import PosternTestSupport

@testable import OAuthClient
@testable import ResourceAccess
@testable import SessionRecords
@testable import Sessions
@testable import TokenValidation

/// Sessions over a scripted provider that binds tokens to the key of the request's proof, on a manual clock.
struct DPoPBench: Sendable {
  let clock = ManualClock()
  let store: MemoryRecordStore
  let transport: ScriptedTransport
  let sessions: UserSessions
  let fetcher: ResourceFetcher
  let issuer: SessionIssuer

  static let metadata = """
    {"issuer": "https://idp.test", "authorization_endpoint": "https://idp.test/authorize",
     "token_endpoint": "https://idp.test/token", "device_authorization_endpoint": "https://idp.test/device",
     "pushed_authorization_request_endpoint": "https://idp.test/par"}
    """

  /// The issuer gives tokens `a-1`, `a-2`, … and refresh tokens `r-1`, …; those are bearer tokens where `binds` is
  /// false, or where there was no proof. A further bench on a `store` is another process; with DPoP it counts from 101.
  init(
    store: MemoryRecordStore = MemoryRecordStore(), usesDPoP: Bool = true, binds: Bool = true,
    endpoints: [ProviderEndpoint: String] = [.token: "https://idp.test/token"],
    answer: @escaping @Sendable (HTTPRequest) -> HTTPResponse? = { _ in nil }
  ) throws {
    self.store = store
    let count = Counter()
    transport = ScriptedTransport { request, _ in
      if let answer = answer(request) { return answer }
      switch request.url.path {
      case "/.well-known/openid-configuration": return .json(Self.metadata)
      case "/par": return .json(#"{"request_uri":"urn:x","expires_in":60}"#, status: 201)
      case "/device":
        return .json(#"{"device_code":"d","user_code":"u","verification_uri":"https://idp.test/d","expires_in":600}"#)
      case "/token":
        let number = count.next() + (usesDPoP ? 100 : 0)
        let isBound = binds && request.fields["DPoP"] != nil
        return .boundToken("a-\(number)", refresh: "r-\(number)", type: isBound ? "DPoP" : "Bearer")
      default: return .status(200)
      }
    }
    let services = Services.testing(transport, clock: clock)
    let discovery = ProviderDiscovery(services)
    sessions = UserSessions(services, store: store, discovery: discovery)
    fetcher = ResourceFetcher(services, deviceTokens: ClientCredentialsTokens(services, discovery: discovery))
    issuer = SessionIssuer(
      issuer: try .testing(endpoints: endpoints, usesDPoP: usesDPoP),
      tokens: IDTokenConfiguration(issuer: "https://idp.test"), keys: StaticJWKSet(JWKSet([])), scope: "orders")
  }

  /// A session made from the refresh token `r-0`.
  func session() async throws -> Session {
    try await sessions.create(from: .refreshToken(Secret("r-0")), at: issuer, in: .uid(1))
  }

  func token(_ session: Session, replacing rejected: AccessToken? = nil) async throws -> AccessToken {
    try await sessions.token(TokenNeed(rejected: rejected), of: session.handle, at: issuer, in: .uid(1))
  }

  /// Fetches `x` from a resource that takes none but bound tokens.
  func fetch(_ session: Session, audience: String? = nil) async throws -> ResourceResponse {
    var server = try ResourceServer.binding(authentication: .user)
    server.audience = audience
    server.scope = nil
    var options = FetchOptions()
    options.session = SessionRef(handle: session.handle, uid: 1, issuer: issuer, sessions: sessions)
    return try await fetcher.fetch(ResourceRequest(path: "x"), from: server, options: options)
  }

  func requests(_ path: String) -> [HTTPRequest] { transport.requests(to: "https://idp.test/\(path)") }

  /// The form of each request to the token endpoint.
  func forms(_ path: String = "token") -> [[String: String]] {
    requests(path).map { request in
      let members = FormEncoding.decode(String(decoding: request.body ?? [], as: UTF8.self)) ?? []
      return Dictionary(members.map { ($0.name, $0.value) }) { first, _ in first }
    }
  }

  /// The members of the session's record.
  func record(_ session: Session) async throws -> JSONObject {
    let record = try await store.record(for: session.handle.key)
    return try JSONParser().parse(record?.contents.reveal() ?? []).objectValue ?? [:]
  }
}
