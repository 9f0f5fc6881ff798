package import AuthEngine
package import HTTPMessages
import JOSE
package import PosternSupport
package import PosternTestSupport

/// Sessions over a scripted token endpoint that rotates refresh tokens and detects reuse, on a manual clock.
package struct SessionBench: Sendable {
  package struct Provider: Sendable {
    package var current = "r-0"
    package var number = 0
    package var expiresIn = 300
    package var presented: [String] = []
    package var isReused = false
    /// Answered in place of the next ones.
    package var answers: [HTTPResponse] = []
    package var failure: TransportError.Code?
    package var rotates = true
  }

  package let clock: ManualClock
  package let provider: Locked<Provider>
  package let transport: ScriptedTransport
  package let store: any RecordStore
  package let events: SessionLog
  package let deviceTokens: ClientCredentialsTokens
  package let sessions: UserSessions
  package let issuer: SessionIssuer
  package let gate = Locked<Gate?>(nil)

  /// Another process is a bench on the same store, provider and clock.
  package init(
    store: (any RecordStore)? = nil, alongside other: SessionBench? = nil, scope: String? = nil,
    maxBytesPerUid: Int = UserSessions.defaultMaxBytesPerUid
  ) throws {
    let clock = other?.clock ?? ManualClock()
    let provider = other?.provider ?? Locked(Provider())
    let gate = gate
    self.clock = clock
    self.provider = provider
    self.store = store ?? other?.store ?? MemoryRecordStore()
    events = SessionLog()
    transport = ScriptedTransport { request, _ throws(TransportError) in
      await gate.withLock { $0 }?.pass()
      let form = FormEncoding.decode(String(decoding: request.body ?? [], as: UTF8.self)) ?? []
      let result: Result<HTTPResponse, TransportError> = provider.withLock { $0.answer(request, form) }
      return try result.get()
    }
    let services = Services.testing(transport, clock: clock)
    let discovery = ProviderDiscovery(services)
    deviceTokens = ClientCredentialsTokens(services, discovery: discovery)
    sessions = UserSessions(
      services, store: self.store, isShared: other != nil, maxBytesPerUid: maxBytesPerUid, discovery: discovery,
      deviceTokens: deviceTokens, sessionObserver: events)
    issuer = SessionIssuer(
      issuer: try .testing(endpoints: [
        .token: "https://idp.test/token", .revocation: "https://idp.test/revoke",
        .endSession: "https://idp.test/logout",
      ]),
      tokens: IDTokenConfiguration(issuer: "https://idp.test"), keys: StaticJWKSet(JWKSet([])),
      scope: scope)
  }

  /// The same issuer with an authorization endpoint, for tokens of no OpenID login.
  package func codeIssuer() throws -> SessionIssuer {
    SessionIssuer(
      issuer: try .testing(endpoints: [
        .token: "https://idp.test/token", .authorization: "https://idp.test/authorize",
      ]),
      tokens: IDTokenConfiguration(issuer: "https://idp.test"), keys: StaticJWKSet(JWKSet([])), scope: "orders")
  }

  /// A session made from a refresh token.
  package func session(uid: UInt32 = 1) async throws(SessionError) -> Session {
    try await sessions.create(from: .refreshToken(Secret(provider.withLock { $0.current })), at: issuer, in: .uid(uid))
  }

  package func token(
    _ session: Session, replacing rejected: AccessToken? = nil, uid: UInt32 = 1, deadline: Deadline = .never
  ) async throws(SessionError) -> AccessToken {
    try await sessions.token(
      TokenNeed(rejected: rejected), of: session.handle, at: issuer, in: .uid(uid, by: deadline))
  }

  package var refreshes: [String] { provider.withLock { $0.presented } }
}

extension SessionBench.Provider {
  fileprivate mutating func answer(
    _ request: HTTPRequest, _ form: [(name: String, value: String)]
  ) -> Result<HTTPResponse, TransportError> {
    guard request.url.path == "/token" else { return .success(.status(200)) }
    let presentedToken = form.first { $0.name == "refresh_token" }?.value ?? ""
    presented.append(presentedToken)
    if let failure { return .failure(TransportError(code: failure, outcome: .notSent, detail: "")) }
    if !answers.isEmpty { return .success(answers.removeFirst()) }
    guard presentedToken == current else {
      isReused = true
      return .success(.json(#"{"error":"invalid_grant"}"#, status: 400))
    }
    number += 1
    if rotates { current = "r-\(number)" }
    let refresh = rotates ? #","refresh_token":"\#(current)""# : ""
    return .success(
      .json(#"{"access_token":"a-\#(number)","token_type":"Bearer","expires_in":\#(expiresIn)\#(refresh)}"#))
  }
}

/// Records the events of sessions.
package final class SessionLog: SessionObserver {
  private let log = Locked<[String]>([])

  package init() {}

  package var names: [String] { log.withLock { $0 } }

  package func observe(_ event: SessionEvent, in scope: CallScope) {
    let name =
      switch event {
      case .refreshed: "refreshed"
      case .steppedUp: "steppedUp"
      case .ended: "ended"
      case .expiring: "expiring"
      case .refreshFailed: "refreshFailed"
      case .idTokenRejected: "idTokenRejected"
      case .troubled: "troubled"
      }
    log.withLock { $0.append(name) }
  }
}
