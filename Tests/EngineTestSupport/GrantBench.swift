package import AuthEngine
package import HTTPMessages
import JOSE
package import PosternJSON
package import PosternSupport
package import PosternTestSupport

/// Sessions over endpoints whose answers a test writes, with ID tokens that are really signed.
package struct GrantBench: Sendable {
  package typealias Form = [String: String]
  package typealias Answer = @Sendable (HTTPRequest, Form) throws(TransportError) -> HTTPResponse

  package let clock = ManualClock()
  package let answers = Locked<[String: Answer]>([:])
  package let forms = Locked<[(path: String, form: Form)]>([])
  /// How long the latest request to each path may take.
  package let patience = Locked<[String: Duration]>([:])
  /// Requests to these paths wait there for their answers.
  package let gates = Locked<[String: Gate]>([:])
  package let transport: ScriptedTransport
  package let store: any RecordStore
  package let events = SessionLog()
  package let sessions: UserSessions
  package let fetcher: ResourceFetcher
  package let signers: TokenKeys

  package init(store: any RecordStore = MemoryRecordStore()) throws {
    signers = try TokenBench.keys.get()
    self.store = store
    let answers = answers
    let forms = forms
    let (gates, patience, clock) = (gates, patience, clock)
    transport = ScriptedTransport { request, options throws(TransportError) in
      let text = String(decoding: request.body ?? [], as: UTF8.self)
      var form: Form = [:]
      for member in FormEncoding.decode(text) ?? [] { form[member.name] = member.value }
      let path = request.url.path
      forms.withLock { $0.append((path, form)) }
      patience.withLock { $0[path] = options.deadline.instant.map { $0 - clock.monotonicNow } }
      await gates.withLock { $0[path] }?.pass()
      guard let answer = answers.withLock({ $0[path] }) else { return .status(200) }
      return try answer(request, form)
    }
    let services = Services.testing(transport, clock: clock)
    let discovery = ProviderDiscovery(services)
    sessions = UserSessions(services, store: store, discovery: discovery, sessionObserver: events)
    fetcher = ResourceFetcher(
      services, deviceTokens: ClientCredentialsTokens(services, discovery: discovery),
      waitsAtEachStep: FetchSteps.wait)
  }

  /// The issuer, as it is configured for a test.
  package func issuer(
    implicit: ImplicitAccess? = nil, accessManager: AccessManager? = nil,
    authentication: any ClientAuthentication = ClientSecretBasic(secret: Secret("s")),
    identifier: String = "https://idp.test", clientID: String = "shop"
  ) throws -> SessionIssuer {
    SessionIssuer(
      issuer: try .testing(
        identifier: identifier, clientID: clientID, authentication: authentication,
        endpoints: [
          .token: "https://idp.test/token", .revocation: "https://idp.test/revoke",
          .authorization: "https://idp.test/authorize", .endSession: "https://idp.test/logout",
        ]),
      tokens: IDTokenConfiguration(issuer: identifier, algorithms: [.es256]),
      keys: StaticJWKSet(JWKSet([signers.p256])), scope: "openid orders", implicit: implicit,
      accessManager: accessManager)
  }

  /// Holds the next requests to `path` until the gate is opened.
  package func hold(_ path: String) -> Gate {
    let gate = Gate()
    gates.withLock { $0[path] = gate }
    return gate
  }

  /// Writes the answers of an endpoint.
  package func answer(_ path: String, _ answer: @escaping Answer) { answers.withLock { $0[path] = answer } }

  /// The token endpoint gives access tokens `a-1`, `a-2`, …
  package func answerTokens(more: String = "", expiresIn: Int = 300) {
    let count = Counter()
    answer("/token") { _, _ in
      .json(
        #"{"access_token":"a-\#(count.next())","token_type":"Bearer","expires_in":\#(expiresIn)\#(more)}"#)
    }
  }

  package func idToken(
    _ subject: String = "user-1", nonce: String? = nil, life: Int64 = 300, more: JSONObject = JSONObject()
  ) throws -> String {
    let now = clock.wallNow.secondsSinceEpoch
    var claims: JSONObject = [
      "iss": "https://idp.test", "sub": .string(subject), "aud": "shop", "exp": .integer(now + life),
      "iat": .integer(now),
    ]
    claims["nonce"] = nonce.map { .string($0) }
    for member in more.members { claims[member.name] = member.value }
    return try CompactJWS.sign(claims: claims, with: signers.p256, algorithm: .es256)
  }

  /// A user session from tokens, which registers its user.
  @discardableResult
  package func userSession(
    _ subject: String = "user-1", at issuer: SessionIssuer, uid: UInt32 = 1
  ) async throws -> Session {
    var given = SessionGrant.GivenTokens()
    given.accessToken = Secret("given")
    given.idToken = try idToken(subject)
    return try await sessions.create(from: .tokens(given), at: issuer, in: .uid(uid))
  }

  /// The forms that were sent to `path`.
  package func sent(to path: String = "/token") -> [Form] {
    forms.withLock { $0.filter { $0.path == path }.map(\.form) }
  }

  /// Runs `body` and returns the session error it ends with.
  package static func fault(_ body: () async throws -> Void) async -> SessionError? {
    do {
      try await body()
      return nil
    } catch {
      return error as? SessionError
    }
  }
}
