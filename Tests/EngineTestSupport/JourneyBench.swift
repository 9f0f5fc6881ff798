package import AuthEngine
package import HTTPMessages
package import PosternJSON
package import PosternSupport
import PosternTestSupport

/// Journeys over an access manager whose answers a test writes one after the other, on a manual clock.
package struct JourneyBench: Sendable {
  /// An answer of the authenticate endpoint.
  package typealias Script = @Sendable (HTTPRequest) throws(TransportError) -> HTTPResponse

  package static let authenticate = "/am/json/realms/root/realms/alpha/authenticate"
  package static let authorize = "/am/oauth2/realms/root/realms/alpha/authorize"
  package static let logins = "/am/json/realms/root/realms/alpha/sessions"
  package static let sso = "AQIC-old.*AAJTSQ.*"
  package static let newer = "AQIC-new.*AAJTSQ.*"
  package static let uid: UInt32 = 1

  package let grants: GrantBench
  package let issuer: SessionIssuer
  package let journeys: Journeys
  private let scripts = Locked<[Script]>([])
  private let nonces = Locked<[String?]>([])

  package init(cookieName: String? = "sso", store: any RecordStore = MemoryRecordStore()) throws {
    grants = try GrantBench(store: store)
    issuer = try grants.issuer(
      accessManager: AccessManager(
        baseURL: HTTPURL("https://am.test/am"), realmPath: "/realms/root/realms/alpha", cookieName: cookieName,
        redirectURI: "https://shop.test/callback"))
    journeys = Journeys(sessions: grants.sessions)
    let scripts = scripts
    grants.answer(Self.authenticate) { request, _ throws(TransportError) in
      let script = scripts.withLock { $0.isEmpty ? nil : $0.removeFirst() }
      return try script?(request) ?? .status(500)
    }
    grants.answer("/am/json/serverinfo/*") { _, _ in .json(#"{"cookieName":"tenant"}"#) }
    answerTokens()
  }

  /// Answers with codes for the signed-on user, and tokens `PREFIX-1`, `PREFIX-2`, … of `subject` for them.
  package func answerTokens(_ subject: String = "user-1", named prefix: String = "a", refreshToken: String? = nil) {
    let (grants, nonces, count) = (grants, nonces, Counter())
    grants.answer(Self.authorize) { _, form in
      let number = nonces.withLock { nonces in
        nonces.append(form["nonce"])
        return nonces.count
      }
      return .status(
        302, ("Location", "https://shop.test/callback?code=\(number)&state=\(form["state"] ?? "")"))
    }
    grants.answer("/token") { _, form in
      let index = (Int(form["code"] ?? "") ?? 0) - 1
      let nonce = nonces.withLock { $0.indices.contains(index) ? $0[index] : nil }
      let idToken = (try? grants.idToken(subject, nonce: nonce)) ?? ""
      let refresh = refreshToken.map { #","refresh_token":"\#($0)""# } ?? ""
      let number = count.next()
      return .json(
        #"{"access_token":"\#(prefix)-\#(number)","token_type":"Bearer","expires_in":300,"id_token":"\#(idToken)"\#(refresh)}"#
      )
    }
  }

  /// Adds an answer of the authenticate endpoint.
  package func then(_ script: @escaping Script) { scripts.withLock { $0.append(script) } }

  /// Adds a page with these callbacks.
  package func thenPage(_ callbacks: String = JourneyBench.password, authID: String = "id", more: String = "") {
    then { _ in .json(#"{"authId":"\#(authID)","callbacks":[\#(callbacks)]\#(more)}"#) }
  }

  /// Adds the end of a journey with that token.
  package func thenToken(_ token: String) {
    then { _ in .json(#"{"tokenId":"\#(token)","successUrl":"/","realm":"/alpha"}"#) }
  }

  package static let password = callback("PasswordCallback", prompt: "Password")

  package static func callback(_ type: String, prompt: String, number: Int = 1) -> String {
    #"{"type":"\#(type)","output":[{"name":"prompt","value":"\#(prompt)"}],"input":[{"name":"IDToken\#(number)","value":""}]}"#
  }

  /// A session whose user is signed on.
  package func session() async throws -> Session {
    try await grants.sessions.create(from: .sso(Secret(Self.sso)), at: issuer, in: .uid(Self.uid))
  }

  package func login(
    _ tree: String? = nil, answers: JSONObject = JSONObject(), uid: UInt32 = JourneyBench.uid,
    deadline: Deadline = .never
  ) async throws(JourneyError) -> JourneyOutcome {
    try await journeys.begin(
      .login(tree: tree), at: issuer, answers: JourneyAnswers(answers), in: .uid(uid, by: deadline))
  }

  /// The advices of a test name no step-up.
  private struct NoStepUp: Error {}

  /// Steps `session` up by a service advice, unless others are given.
  package func stepUp(
    _ session: Session, _ advices: [PolicyAdvice] = [PolicyAdvice(type: PolicyAdvice.Name.service, value: "Confirm")],
    answers: JSONObject = JSONObject(), deadline: Deadline = .never
  ) async throws -> JourneyOutcome {
    guard let request = JourneyRequest.stepUp(session.handle, advices: advices) else {
      throw NoStepUp()
    }
    return try await journeys.begin(
      request, at: issuer, answers: JourneyAnswers(answers), in: .uid(Self.uid, by: deadline))
  }

  /// Goes on with the step's own callbacks, or with what is given.
  package func resume(
    _ step: JourneyStep, _ callbacks: [JSONValue]? = nil, answers: JSONObject? = nil,
    uid: UInt32 = JourneyBench.uid, deadline: Deadline = .never
  ) async throws(JourneyError) -> JourneyOutcome {
    try await resume(
      step.continuation, answers == nil ? callbacks ?? step.callbacks : nil, answers: answers ?? JSONObject(),
      uid: uid, deadline: deadline)
  }

  package func resume(
    _ continuation: String, _ callbacks: [JSONValue]?, answers: JSONObject = JSONObject(),
    uid: UInt32 = JourneyBench.uid, deadline: Deadline = .never
  ) async throws(JourneyError) -> JourneyOutcome {
    try await journeys.resume(
      continuation, callbacks: callbacks, issuer: { [issuer] _ in issuer },
      answers: JourneyAnswers(answers), in: .uid(uid, by: deadline))
  }

  /// The requests to the authenticate endpoint.
  package var submissions: [HTTPRequest] { grants.transport.requests.filter { $0.url.path == Self.authenticate } }

  /// The tokens that were logged out, each as the cookie and as the body named it.
  package var logouts: [String] {
    grants.transport.requests.filter { $0.url.path == Self.logins }.map { request in
      let body = (try? JSONParser(maxDepth: 4).parse(request.body ?? []))?["tokenId"]?.stringValue ?? ""
      return "\(request.fields["Cookie"] ?? "") \(body)"
    }
  }

  package func token(_ session: Session) async throws(SessionError) -> String {
    try await grants.sessions.token(of: session.handle, at: issuer, in: .uid(Self.uid)).value.reveal()
  }

  /// Runs `body` and returns its result as a word or two.
  package static func word(_ body: () async throws -> JourneyOutcome) async -> String {
    do {
      return try await body().word
    } catch {
      return (error as? JourneyError)?.word ?? "\(error)"
    }
  }
}

extension JourneyOutcome {
  package var step: JourneyStep? { if case .callbacks(let step) = self { step } else { nil } }

  package var end: JourneyEnd? { if case .completed(let end) = self { end } else { nil } }

  package var word: String {
    switch self {
    case .callbacks: "callbacks"
    case .completed(let end): end.isUpgraded ? "upgraded" : "completed"
    case .failed(let failure): "failed \(failure.code) \(failure.message)"
    }
  }
}

extension JourneyError {
  package var word: String {
    switch kind {
    case .adviceNotRecognised: "advice"
    case .continuationUnknown: "unknown"
    case .timedOut: "timedOut"
    case .unreachable(let error): "unreachable \(error.outcome?.rawValue ?? "-")"
    case .accessManager(let status, let code): "manager \(status ?? 0) \(code ?? "-")"
    case .session(let error):
      if case .unreachable = error.kind { "session unreachable" } else { "session \(error.kind)" }
    case .overloaded: "overloaded"
    case .invalid(let path): "invalid \(path.jsonPointer)"
    case .deadlineExceeded: "deadline"
    case .cancelled: "cancelled"
    }
  }
}
