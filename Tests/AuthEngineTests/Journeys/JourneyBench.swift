import AuthEngine
import HTTPMessages
import PosternJSON
import PosternSupport
import PosternTestSupport
import Testing

/// Journeys over an access manager whose answers a test writes one after the other, on a manual clock.
struct JourneyBench: Sendable {
  /// An answer of the authenticate endpoint.
  typealias Script = @Sendable (HTTPRequest) throws(TransportError) -> HTTPResponse

  static let authenticate = "/am/json/realms/root/realms/alpha/authenticate"
  static let authorize = "/am/oauth2/realms/root/realms/alpha/authorize"
  static let logins = "/am/json/realms/root/realms/alpha/sessions"
  static let sso = "AQIC-old.*AAJTSQ.*"
  static let newer = "AQIC-new.*AAJTSQ.*"
  static let owner: UInt32 = 1

  let grants: GrantBench
  let issuer: SessionIssuer
  let journeys: Journeys
  private let scripts = Locked<[Script]>([])
  private let nonces = Locked<[String?]>([])

  init(cookieName: String? = "sso", store: any RecordStore = MemoryRecordStore()) throws {
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

  /// Codes for whoever is signed on, and tokens `PREFIX-1`, `PREFIX-2`, … of `subject` for them.
  func answerTokens(_ subject: String = "user-1", named prefix: String = "a", refreshToken: String? = nil) {
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
  func then(_ script: @escaping Script) { scripts.withLock { $0.append(script) } }

  /// Adds a page with these callbacks.
  func thenPage(_ callbacks: String = JourneyBench.password, authID: String = "id", more: String = "") {
    then { _ in .json(#"{"authId":"\#(authID)","callbacks":[\#(callbacks)]\#(more)}"#) }
  }

  /// Adds the end of a journey with that token.
  func thenToken(_ token: String) { then { _ in .json(#"{"tokenId":"\#(token)","successUrl":"/","realm":"/alpha"}"#) } }

  static let password = callback("PasswordCallback", prompt: "Password")

  static func callback(_ type: String, prompt: String, number: Int = 1) -> String {
    #"{"type":"\#(type)","output":[{"name":"prompt","value":"\#(prompt)"}],"input":[{"name":"IDToken\#(number)","value":""}]}"#
  }

  /// A session whose user is signed on.
  func session() async throws -> Session {
    try await grants.sessions.create(from: .sso(Secret(Self.sso)), at: issuer, ownedBy: Self.owner)
  }

  func login(
    _ tree: String? = nil, answers: JSONObject = JSONObject(), owner: UInt32 = JourneyBench.owner,
    deadline: Deadline = .never
  ) async throws(JourneyError) -> JourneyOutcome {
    try await journeys.begin(
      .login(tree: tree), at: issuer, ownedBy: owner, answers: JourneyAnswers(answers), deadline: deadline)
  }

  /// Steps `session` up as a service advice asks, unless others are given.
  func stepUp(
    _ session: Session, _ advices: [PolicyAdvice] = [PolicyAdvice(type: PolicyAdvice.Name.service, value: "Confirm")],
    answers: JSONObject = JSONObject(), deadline: Deadline = .never
  ) async throws -> JourneyOutcome {
    let request = try #require(JourneyRequest.stepUp(session.handle, advices: advices))
    return try await journeys.begin(
      request, at: issuer, ownedBy: Self.owner, answers: JourneyAnswers(answers), deadline: deadline)
  }

  /// Goes on with the step's own callbacks, or with what is given.
  func goOn(
    _ step: JourneyStep, _ callbacks: [JSONValue]? = nil, answers: JSONObject? = nil,
    owner: UInt32 = JourneyBench.owner, deadline: Deadline = .never
  ) async throws(JourneyError) -> JourneyOutcome {
    try await goOn(
      step.continuation, answers == nil ? callbacks ?? step.callbacks : nil, answers: answers ?? JSONObject(),
      owner: owner, deadline: deadline)
  }

  func goOn(
    _ continuation: String, _ callbacks: [JSONValue]?, answers: JSONObject = JSONObject(),
    owner: UInt32 = JourneyBench.owner, deadline: Deadline = .never
  ) async throws(JourneyError) -> JourneyOutcome {
    try await journeys.goOn(
      continuation, callbacks: callbacks, ownedBy: owner, issuer: { [issuer] _ in issuer },
      answers: JourneyAnswers(answers), deadline: deadline)
  }

  /// What was sent to the authenticate endpoint.
  var submissions: [HTTPRequest] { grants.transport.requests.filter { $0.url.path == Self.authenticate } }

  /// The tokens that were logged out, each as the cookie and as the body named it.
  var logouts: [String] {
    grants.transport.requests.filter { $0.url.path == Self.logins }.map { request in
      let body = (try? JSONParser(maxDepth: 4).parse(request.body ?? []))?["tokenId"]?.stringValue ?? ""
      return "\(request.fields["Cookie"] ?? "") \(body)"
    }
  }

  func token(_ session: Session) async throws(SessionError) -> String {
    try await grants.sessions.token(of: session.handle, ownedBy: Self.owner, at: issuer).value.reveal()
  }

  /// Runs `body` and says what came of it in a word or two.
  static func word(_ body: () async throws -> JourneyOutcome) async -> String {
    do {
      return try await body().word
    } catch {
      return (error as? JourneyError)?.word ?? "\(error)"
    }
  }
}

extension JourneyOutcome {
  var step: JourneyStep? { if case .callbacks(let step) = self { step } else { nil } }

  var end: JourneyEnd? { if case .completed(let end) = self { end } else { nil } }

  var word: String {
    switch self {
    case .callbacks: "callbacks"
    case .completed(let end): end.isUpgraded ? "upgraded" : "completed"
    case .failed(let failure): "failed \(failure.code) \(failure.message)"
    }
  }
}

extension JourneyError {
  var word: String {
    switch kind {
    case .adviceNotRecognised: "advice"
    case .continuationUnknown: "unknown"
    case .timedOut: "timedOut"
    case .unreachable(let outcome): "unreachable \(outcome.rawValue)"
    case .accessManager(let status, let code): "manager \(status ?? 0) \(code ?? "-")"
    case .session(let error): "session \(error.kind)".prefix { $0 != "(" }.description
    case .overloaded: "overloaded"
    case .invalid(let path): "invalid \(path)"
    case .deadlineExceeded: "deadline"
    case .cancelled: "cancelled"
    }
  }
}
