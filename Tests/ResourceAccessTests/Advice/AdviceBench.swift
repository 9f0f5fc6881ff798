import AuthEngine
import EngineTestSupport
import HTTPMessages
import PosternJSON
import PosternSupport
import PosternTestSupport

@testable import OAuthClient
@testable import ResourceAccess
@testable import Sessions

/// Fetches of users' sessions through a gateway whose answers a test writes, with a delegate that the test
/// scripts.
struct AdviceBench: Sendable {
  let grants: GrantBench
  let issuer: SessionIssuer
  var server: ResourceServer
  let delegate = ScriptedDelegate()
  /// Continuations that are good.
  let stops = Locked<[String: AdviceStop]>([:])
  private let names = Counter()

  init(rounds: Int = 3, timeout: Duration = .seconds(30)) throws {
    grants = try GrantBench()
    issuer = try grants.issuer()
    var server = try ResourceServer.testing(
      baseURL: "https://api.test/shop/", authentication: .user, issuer: issuer.issuer)
    server.advice = AdviceRules(
      rounds: rounds, accessManager: try HTTPURL("https://am.test/am"), allowsAuthorization: true)
    server.timeout = timeout
    self.server = server
  }

  /// Answers of the gateway, by how many have been before.
  func answer(_ path: String = "/shop/pay", _ answer: @escaping @Sendable (Int, HTTPRequest) -> HTTPResponse) {
    let count = Counter()
    grants.answer(path) { request, _ in answer(count.next(), request) }
  }

  static func rejection(_ advices: (type: String, value: String)...) -> HTTPResponse {
    let map = JSONObject(advices.map { ($0.type, .array([.string($0.value)])) })
    let encoded = Base64.string(JSONWriter().write(.object(map)))
    var answer = HTTPResponse.status(
      401, ("WWW-Authenticate", #"SSOADVICE realm="/",advices="\#(encoded)",am_uri="https://am.test/am/""#))
    answer.body = Array("no".utf8)
    return answer
  }

  static func service(_ name: String = "Confirm") -> (type: String, value: String) { (PolicyAdvice.Name.service, name) }

  static func transaction(_ id: String) -> (type: String, value: String) { (PolicyAdvice.Name.transaction, id) }

  func session() async throws -> Session { try await grants.userSession(at: issuer) }

  func fetch(
    _ session: Session, _ path: String = "pay", headers: HTTPFields = HTTPFields(), delegateID: UInt64? = 1,
    delegate: (any AuthorizationPolicyDelegate)?? = nil,
    progress: AdviceProgress? = nil, timeout: Duration? = nil, deadline: Deadline = .never
  ) async throws(ResourceError) -> ResourceResponse {
    var options = FetchOptions(timeout: timeout, in: .uid(by: deadline))
    options.session = SessionRef(
      handle: session.handle, uid: 1, issuer: issuer, sessions: grants.sessions)
    let (stops, names) = (stops, names)
    options.advice = FetchAdvice(
      delegate: delegate ?? self.delegate, progress: progress, delegateID: delegateID,
      hold: { stop in
        let name = "c-\(names.next())"
        stops.withLock { $0[name] = stop }
        return name
      },
      release: { name in stops.withLock { $0[name] = nil } })
    return try await grants.fetcher.fetch(ResourceRequest(path: path, headers: headers), from: server, options: options)
  }

  /// Waits until so many fetches wait for what comes of the advice.
  func joined(_ count: Int, _ session: Session, _ advice: (type: String, value: String)) async -> Bool {
    let response = ResourceResponse(
      status: 401, reason: "", url: server.baseURL, fields: HTTPFields(), body: [], retryAfter: nil, attempts: 1,
      tokenRefreshed: false, advicesSatisfied: [], timing: HTTPResponse.Timing())
    var stop = AdviceStop(
      advices: [PolicyAdvice(type: advice.type, value: advice.value, realm: "/")], response: response,
      progress: AdviceProgress())
    stop.session = session.handle
    let name = AdviceFlights.Name(stop, level: nil)
    let flights = grants.fetcher.flights
    return await eventually { flights.waiterCount(for: name) == count }
  }

  /// The requests that went to the gateway.
  var requests: [HTTPRequest] { grants.transport.requests(to: "https://api.test/") }

  /// Runs `body` and gives the error it ends with.
  static func fault(_ body: () async throws -> Void) async -> ResourceError? {
    do {
      try await body()
      return nil
    } catch {
      return error as? ResourceError
    }
  }
}

/// Returns the scripted answers in order, then always yes; or waits at a gate first.
final class ScriptedDelegate: AuthorizationPolicyDelegate {
  struct Question: Sendable {
    let advices: [PolicyAdvice]
    let session: SessionHandle?
    let continuation: String?
  }

  private let answers: Locked<[Bool?]>
  private let log = Locked<[Question]>([])
  private let gate: Gate?
  private let change: (@Sendable (HTTPRequest, String?) -> RequestUpdate?)?

  init(
    _ answers: [Bool?] = [], gate: Gate? = nil, update: (@Sendable (HTTPRequest, String?) -> RequestUpdate?)? = nil
  ) {
    self.answers = Locked(answers)
    self.gate = gate
    change = update
  }

  var questions: [Question] { log.withLock { $0 } }

  func onPolicyAdviceReceived(
    _ advices: [PolicyAdvice], session: SessionHandle?, continuation: String?
  ) async -> Bool? {
    log.withLock { $0.append(Question(advices: advices, session: session, continuation: continuation)) }
    await gate?.pass()
    return answers.withLock { $0.isEmpty ? true : $0.removeFirst() }
  }

  func updateRequest(_ request: HTTPRequest, txId: String?) async -> RequestUpdate? { change?(request, txId) }
}
