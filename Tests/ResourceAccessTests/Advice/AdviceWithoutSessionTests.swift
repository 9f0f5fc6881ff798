import AuthEngine
import EngineTestSupport
import HTTPMessages
import PosternSupport
import PosternTestSupport
import Testing

/// Advice in responses to fetches for which no user is logged in.
@Suite(.bothWays) struct AdviceWithoutSessionTests {
  private typealias Bench = AdviceBench

  private func fetch(
    _ bench: AdviceBench, _ authentication: ResourceServer.Authentication, delegate: (any AuthorizationPolicyDelegate)?,
    policy: TokenManagementPolicy? = nil
  ) async throws(ResourceError) -> ResourceResponse {
    var server = bench.server
    server.scope = nil
    var options = FetchOptions(authentication: authentication)
    options.session = SessionRef.only(of: 1, at: bench.issuer, sessions: bench.grants.sessions)
    options.tokenPolicy = policy
    if let delegate { options.advice = FetchAdvice(delegate: delegate) }
    return try await bench.grants.fetcher.fetch(ResourceRequest(path: "pay"), from: server, options: options)
  }

  private static func lenient() throws -> TokenManagementPolicy {
    TokenManagementPolicy(validatingURL: [try HTTPURL("https://api.test/")], whenNoSession: .sendWithoutToken)
  }

  @Test(
    "The response lacks its advices where the fetch has no user's session, or the fetch fails because of them",
    arguments: [ResourceServer.Authentication.none, .clientCredentials, .user])
  func recognised(_ authentication: ResourceServer.Authentication) async throws {
    let bench = try Bench()
    bench.grants.answerTokens()
    bench.answer { _, _ in Bench.rejection(Bench.transaction("t-1"), Bench.service()) }
    let response = try await fetch(bench, authentication, delegate: nil, policy: Self.lenient())
    #expect(response.status == 401 && response.advices.map(\.value) == ["t-1", "Confirm"])
    #expect(response.advicesSatisfied.isEmpty && bench.requests.count == 1)
    let sent = authentication == .clientCredentials ? "Bearer a-1" : nil
    #expect(bench.requests.first?.fields["Authorization"] == sent)
  }

  @Test("Without rules for advice a response has advices all the same")
  func withoutRules() async throws {
    var bench = try Bench()
    bench.server.advice = nil
    bench.answer { _, _ in Bench.rejection(Bench.transaction("t-1")) }
    let response = try await fetch(bench, .none, delegate: nil)
    #expect(response.status == 401 && response.advices.isEmpty)
  }

  @Test(
    "A delegate is not called without a session, or its answer does not decide",
    arguments: [true, false, nil] as [Bool?])
  func satisfied(_ answer: Bool?) async throws {
    let bench = try Bench()
    bench.answer { number, _ in number == 1 ? Bench.rejection(Bench.transaction("t-1")) : .status(200) }
    let delegate = ScriptedDelegate([answer])
    let result: Result<ResourceResponse, ResourceError>
    do throws(ResourceError) {
      result = .success(try await fetch(bench, .none, delegate: delegate))
    } catch {
      result = .failure(error)
    }
    #expect(delegate.questions.map { $0.advices.map(\.txId) } == [["t-1"]])
    #expect(delegate.questions.first?.session == nil)
    switch answer {
    case true?:
      let response = try result.get()
      #expect(response.status == 200 && response.advicesSatisfied.map(\.txId) == ["t-1"] && response.advices.isEmpty)
      #expect(bench.requests.map(\.url.query) == [nil, "_txid=t-1"])
      #expect(bench.requests.allSatisfy { $0.fields["Authorization"] == nil })
      #expect(bench.requests.allSatisfy { $0.fields["x-authenticate-response"] == "header" })
    case false?, nil:
      let error = try #require(result.failure)
      #expect(error.code == (answer == nil ? .adviceRequired : .adviceFailed) && bench.requests.count == 1)
      #expect(error.stop?.advices.map(\.txId) == ["t-1"] && error.stop?.response?.advices.map(\.txId) == ["t-1"])
    }
  }

  /// Logs the user in.
  private struct Login: AuthorizationPolicyDelegate {
    let logIn: @Sendable () async -> Bool

    func onPolicyAdviceReceived(
      _ advices: [PolicyAdvice], event: PolicyEvent, continuation: String?
    ) async -> Bool? { event.session == nil ? await logIn() : nil }
  }

  @Test("The request is retried without the token of the user whom the delegate has logged in")
  func login() async throws {
    let bench = try Bench()
    bench.answer { number, _ in number == 1 ? Bench.rejection(Bench.service()) : .status(200) }
    let delegate = Login { (try? await bench.session()) != nil }
    let response = try await fetch(bench, .user, delegate: delegate, policy: Self.lenient())
    #expect(response.status == 200 && response.attempts == 2)
    #expect(bench.requests.map { $0.fields["Authorization"] } == [nil, "Bearer given"])
  }

  @Test("Advice of another origin reaches the delegate after a redirect")
  func crossing() async throws {
    var bench = try Bench()
    bench.server.additionalOrigins = [try HTTPURL("https://other.test/")]
    bench.answer { _, _ in .status(307, ("Location", "https://other.test/elsewhere")) }
    bench.grants.answer("/elsewhere") { _, _ in Bench.rejection(Bench.transaction("t-1")) }
    let delegate = ScriptedDelegate()
    let response = try await fetch(bench, .none, delegate: delegate)
    #expect(response.status == 401 && delegate.questions.isEmpty && response.advices.map(\.txId) == ["t-1"])
  }

  @Test("A policy for a server without rules is in vain, or follows what no authentication can satisfy")
  func policyAlone() async throws {
    var bench = try Bench()
    bench.server.advice = nil
    bench.answer { number, _ in
      switch number {
      case 1: Bench.rejection(Bench.service())
      case 2: Bench.rejection((PolicyAdvice.Name.session, "deny"))
      default: .status(200)
      }
    }
    let session = try await bench.session()
    var options = FetchOptions()
    options.session = SessionRef(
      handle: session.handle, uid: 1, issuer: bench.issuer, sessions: bench.grants.sessions)
    var advice = FetchAdvice()
    advice.policy = AuthorizationPolicy(validatingURL: [bench.server.baseURL], delegate: bench.delegate)
    options.advice = advice
    let response = try await bench.grants.fetcher.fetch(
      ResourceRequest(path: "pay"), from: bench.server, options: options)
    #expect(
      response.status == 401 && response.attempts == 2 && response.advices.map(\.type) == [PolicyAdvice.Name.session])
    #expect(bench.delegate.questions.map { $0.advices.map(\.value) } == [["Confirm"]])
  }
}

/// Advice in successful responses: only where the rules have it so, only in JSON, and only as `advices`.
@Suite(.bothWays) struct AdviceInSuccessTests {
  private static let body = #"{"advices":{"TransactionConditionAdvice":["t-1"]}}"#

  struct Row: Sendable {
    var status = 200
    var type: String? = "application/json"
    var body = AdviceInSuccessTests.body
    var inSuccess = true
    var isFound = false
  }

  static let rows: [Row] = [
    Row(isFound: true), Row(status: 299, isFound: true),
    Row(type: "application/problem+json; charset=utf-8", isFound: true),
    Row(body: "[\(body)]", isFound: true),
    Row(inSuccess: false), Row(type: nil), Row(type: "text/plain"), Row(type: "application/jsonish"), Row(status: 302),
    Row(status: 404), Row(status: 500), Row(body: #"{"TransactionConditionAdvice":["t-1"]}"#),
    Row(body: #"{"result":\#(body)}"#), Row(body: body + String(repeating: " ", count: 256 << 10)), Row(body: "{"),
    Row(body: ""),
  ]

  private static func response(_ row: Row) -> HTTPResponse {
    var response = HTTPResponse.status(row.status)
    response.fields["Content-Type"] = row.type
    response.body = Array(row.body.utf8)
    return response
  }

  @Test(
    "A success counts as advice without being configured so, by another type, too large, or by a bare map",
    arguments: rows)
  func recognised(_ row: Row) async throws {
    var recognizer = AdviceRecognizer()
    recognizer.inSuccess = row.inSuccess
    #expect((recognizer.finding(in: Self.response(row)) != nil) == row.isFound)
    var bench = try AdviceBench()
    bench.server.advice?.inSuccess = row.inSuccess
    let session = try await bench.session()
    bench.answer { number, _ in number == 1 ? Self.response(row) : .status(204) }
    let result = try await bench.fetch(session)
    #expect(bench.delegate.questions.count == (row.isFound ? 1 : 0))
    #expect(result.status == (row.isFound ? 204 : row.status))
  }

  @Test("A challenge in a success counts, which only denials may have")
  func challenge() {
    var recognizer = AdviceRecognizer()
    recognizer.inSuccess = true
    var response = AdviceBench.rejection(AdviceBench.transaction("t"))
    response.status = 200
    #expect(recognizer.finding(in: response) == nil)
  }
}
