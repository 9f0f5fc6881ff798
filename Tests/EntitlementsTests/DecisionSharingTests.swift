import AuthEngine
import EngineTestSupport
import HTTPMessages
import PosternJSON
import PosternSupport
import PosternTestSupport
import Testing

@testable import Entitlements
@testable import OAuthClient

/// Answers of a decision point to one user's requests have no effect for another.
@Suite("Decision points that users share")
struct DecisionSharingTests {
  private static let (alice, bob) = (DecisionSubject(id: "alice", uid: 1), DecisionSubject(id: "bob", uid: 2))

  private static func point(_ provider: any DecisionProvider) -> DecisionPoint {
    var settings = DecisionPoint.Settings()
    settings.attempts = 1
    settings.action = "GET"
    return DecisionPoint(name: "pdp", settings: settings, provider: provider)
  }

  /// An engine that records the options of the requests to each path.
  private static func noting(
    _ seen: Locked<[String: [TransferOptions]]>, _ answer: @escaping @Sendable (HTTPRequest) -> HTTPResponse
  ) -> DecisionEngine {
    DecisionEngine { request, options in
      seen.withLock { $0[request.url.path, default: []].append(options) }
      return answer(request)
    }
  }

  @Test("a decision point's metadata is requested in the name of the first user to need it")
  func decisionMetadata() async throws {
    let seen = Locked<[String: TransferOptions]>([:])
    let decisions = DecisionEngine { request, options in
      seen.withLock { $0[request.method] = options }
      return request.method == "GET" ? .status(404) : .decisions([true])
    }
    let point = try decisions.point()
    let response = await decisions.ask(["a"], at: point)
    #expect(response.decisions.first?.isAuthorized == true)
    let (metadata, question) = seen.withLock { ($0["GET"], $0["POST"]) }
    #expect(metadata?.peerID == .process && question?.peerID.uid == 1)
  }

  /// Would catch: a late answer to one user's own request, taken for metadata, a login or readiness that all go by.
  @Test("shared results come over a connection of their own, in no user's name; decisions over the user's")
  func connections() async throws {
    let seen = Locked<[String: [TransferOptions]]>([:])
    let engine = Self.noting(seen) { request in
      switch request.url.path {
      case "/am/json/realms/root/authenticate": .json(#"{"tokenId":"t"}"#)
      case "/am/json/realms/root/policies": .json(#"[{"resource":"a","actions":{"GET":true}}]"#)
      case "/v1/data/p": .json(#"{"result":{"a":true}}"#)
      case "/health": .status(200)
      default: request.method == "GET" ? .status(404) : .decisions([true])
      }
    }
    let manager = AccessManagerProvider.Settings(
      baseURL: try HTTPURL("https://am.test/am"), evaluator: .user(name: Secret("n"), password: Secret("p")))
    let points = [
      try engine.point(), Self.point(try OPAProvider(.init(baseURL: try HTTPURL("https://opa.test"), path: "p"))),
      Self.point(try AccessManagerProvider(manager, clock: engine.clock)),
    ]
    for point in points {
      #expect(await engine.ask(["a"], at: point, subject: Self.alice).decisions.first?.isAuthorized == true)
    }
    let options = seen.withLock { $0 }
    for path in ["/.well-known/authzen-configuration", "/health", "/am/json/realms/root/authenticate"] {
      let found = try #require(options[path]?.first, "\(path)")
      #expect(!found.reusesConnections && found.peerID == .process, "\(path)")
    }
    for path in ["/access/v1/evaluations", "/v1/data/p", "/am/json/realms/root/policies"] {
      let found = try #require(options[path]?.first, "\(path)")
      #expect(found.reusesConnections && found.peerID.uid == 1, "\(path)")
    }
  }

  /// Would catch: a late answer to one user's own request, for which the client is registered again and every user has
  /// to log in.
  @Test("a rejected client is rejected once more on a connection of its own before it is registered again")
  func confirmation() async throws {
    let seen = Locked<[String: [TransferOptions]]>([:])
    let server = AdobePassServer()
    let engine = DecisionEngine(clock: server.clock) { request, options in
      seen.withLock { $0[request.url.path, default: []].append(options) }
      switch request.url.path {
      case "/o/client/register": return .json(#"{"client_id":"c","client_secret":"s"}"#, status: 201)
      case "/o/client/token":
        return .json(#"{"access_token":"t","expires_in":21600,"token_type":"bearer"}"#, status: 201)
      default:
        // What only a kept connection brings is a stray.
        return options.reusesConnections
          ? .enhanced("invalid_access_token_client_application", 401, "application-registration") : .permits(["a"])
      }
    }
    let response = await engine.ask(["a"], at: try server.point(), subject: Self.alice)
    #expect(response.decisions.first?.isAuthorized == true)
    let options = seen.withLock { $0 }
    #expect(options["/o/client/register"]?.count == 1 && options["/o/client/token"]?.count == 2)
    for path in ["/o/client/register", "/o/client/token"] {
      #expect(options[path]?.allSatisfy { !$0.reusesConnections && $0.peerID == .process } == true, "\(path)")
    }
    let questions = options["/api/v2/REF%2030/decisions/preauthorize/a%2Fb"] ?? []
    #expect(questions.map(\.reusesConnections) == [true, false] && questions.allSatisfy { $0.peerID.uid == 1 })
  }

  @Test(
    "metadata that send questions to another origin count only where no token goes along", arguments: [true, false])
  func foreignEndpoints(hasToken: Bool) async throws {
    let engine = DecisionEngine { request, _ in
      guard request.method == "GET" else { return .decisions([true]) }
      return .json(
        #"{"policy_decision_point":"https://pdp.test","access_evaluation_endpoint":"https://pdp.test/one","#
          + #""access_evaluations_endpoint":"https://other.test/many"}"#)
    }
    let point = try engine.point { if hasToken { $0.credential = .token(Secret("x")) } }
    _ = await engine.ask(["a"], at: point)
    let expected = hasToken ? "https://pdp.test/access/v1/evaluations" : "https://other.test/many"
    #expect(engine.posts.map(\.url.description) == [expected])
    #expect((engine.posts.first?.fields["Authorization"] != nil) == hasToken)
  }

  private static func isAlices(_ request: HTTPRequest) -> Bool {
    String(decoding: request.body ?? [], as: UTF8.self).contains("alice")
  }

  /// Would catch: an error for one user's requests that makes every user's batches small from then on.
  @Test("too many resources for one user are not too many for another, and are tried again after an hour")
  func batches() async throws {
    let engine = DecisionEngine { request, _ in
      guard request.method == "POST" else { return .status(404) }
      let ids = DecisionEngine.ids(in: request)
      return Self.isAlices(request) && ids.count > 5
        ? .json(#"{"code":"too_many_resources","status":403}"#, status: 403) : .decisions(ids.map { _ in true })
    }
    let point = try engine.point { $0.permitLifetime = .zero }
    let names = (1...50).map { "\($0)" }
    func questions(_ subject: DecisionSubject) async -> Int {
      let before = engine.posts.count
      #expect(await engine.ask(names, at: point, subject: subject).decisions.allSatisfy(\.isAuthorized))
      return engine.posts.count - before
    }
    #expect(await questions(Self.alice) == 22)
    #expect(await questions(Self.bob) == 1)
    // 50 in batches of three.
    #expect(await questions(Self.alice) == 17)
    engine.clock.advance(by: .seconds(3600))
    #expect(await questions(Self.alice) == 22)
  }

  @Test("a batch endpoint that is not there for one user is there for another")
  func batchEndpoint() async throws {
    let engine = DecisionEngine { request, _ in
      guard request.method == "POST" else { return .status(404) }
      let isBatch = request.url.path == "/access/v1/evaluations"
      guard !(isBatch && Self.isAlices(request)) else { return .status(404) }
      return isBatch ? .decisions([true, true]) : .json(#"{"decision":true}"#)
    }
    let point = try engine.point { $0.permitLifetime = .zero }
    for (subject, count) in [(Self.alice, 3), (Self.bob, 1), (Self.alice, 2)] {
      let before = engine.posts.count
      #expect(await engine.ask(["a", "b"], at: point, subject: subject).decisions.allSatisfy(\.isAuthorized))
      #expect(engine.posts.count - before == count, "\(subject.id)")
    }
    engine.clock.advance(by: .seconds(300))
    let before = engine.posts.count
    _ = await engine.ask(["a", "b"], at: point, subject: Self.alice)
    #expect(engine.posts.count - before == 3)
  }

  /// Would catch: `health` that shows everybody whom a decision point spoke of.
  @Test("what a decision point answers to one user's request is shown to no other")
  func words() async throws {
    let answers: [(HTTPResponse, String)] = [
      (
        .json(#"{"code":"suspended_account","status":403,"message":"alice owes","details":"alice"}"#, status: 403),
        "an error with a code of its own, status 403"
      ),
      (
        .json(#"{"code":"invalid_domain","status":400,"message":"alice owes","details":"alice"}"#, status: 400),
        "invalid_domain, status 400"
      ),
      (.json("[]"), "server_response_format_unknown: the answer has no evaluations"),
    ]
    for (answer, text) in answers {
      let engine = DecisionEngine { request, _ in request.method == "GET" ? .status(404) : answer }
      let point = try engine.point { $0.attempts = 1 }
      let response = await engine.ask(["a"], at: point, subject: Self.alice)
      let tally = DecisionCounts(response, at: point)
      #expect(tally.wasQueried && tally.trouble == text && tally.cause?.contains("alice") != true)
    }
  }

  @Test("an error code of a server's own is shown to the user of the request, and to no other")
  func codes() throws {
    let document = try JSONParser().parse(#"{"error":"no_alice","error_description":"alice"}"#)
    let own = TokenError(.rejected(OAuthError(document)), "answered 400 no_alice", status: 400)
    #expect(own.publicDetail == "the server answered 400 an error with a code of its own")
    let known = TokenError(.rejected(OAuthError(["error": "invalid_grant"])), "answered 400 invalid_grant", status: 400)
    #expect(known.publicDetail == "answered 400 invalid_grant")
  }
}
