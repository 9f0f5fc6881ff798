import AuthEngine
import EngineTestSupport
import HTTPMessages
import PosternJSON
import PosternSupport
import PosternTestSupport
import Testing

@testable import Entitlements

/// The requests to decision points, byte by byte: no other test would notice an option that is lost.
@Suite("Questions to decision points")
struct DecisionWireTests {
  static let fragment =
    #"<rss version="2.0" xmlns:media="http://search.yahoo.com/mrss/"><channel><title>A, "B" &amp; Ç</title>"#
    + #"<item><media:rating scheme="urn:v-chip">tv-pg</media:rating></item></channel></rss>"#

  private static func text(_ request: HTTPRequest?) -> String {
    String(decoding: request?.body ?? [], as: UTF8.self)
  }

  private static func point(_ provider: any DecisionProvider, attempts: Int = 1) -> DecisionPoint {
    var settings = DecisionPoint.Settings()
    settings.attempts = attempts
    settings.action = "GET"
    return DecisionPoint(name: "pdp", settings: settings, provider: provider)
  }

  @Test("AuthZEN: subject, action and context once, the resources in their order, all of them to be decided")
  func authzen() async throws {
    let engine = DecisionEngine.authzen { .decisions($0.map { _ in true }) }
    let subject = DecisionSubject(type: "member", id: "al\"ice", properties: ["role": "x"], uid: 1)
    _ = await engine.ask(
      ["a,b", Self.fragment], at: try engine.point(), disabled: [.remoteCache], subject: subject, context: ["ip": "::1"]
    )
    let request = try #require(engine.posts.first)
    let mrss = JSONWriter().string(.string(Self.fragment))
    #expect(
      Self.text(request)
        == #"{"subject":{"type":"member","id":"al\"ice","properties":{"role":"x"}},"action":{"name":"view"},"#
        + #""context":{"ip":"::1","postern_bypass_cache":true},"evaluations":[{"resource":{"type":"channel","id":"a,b"}},"#
        + #"{"resource":{"type":"channel","id":"A, \"B\" & Ç","properties":{"mrss":\#(mrss),"rating":"tv-pg"}}}],"#
        + #""options":{"evaluations_semantic":"execute_all"}}"#)
    #expect(request.url.description == "https://pdp.test/access/v1/evaluations")
    #expect(request.fields["Cache-Control"] == "no-cache" && request.fields["Accept"] == "application/json")
    #expect(request.fields["Content-Type"] == "application/json" && request.fields["X-Request-ID"] != nil)
    #expect(request.fields["Authorization"] == nil)
  }

  @Test("a request to a decision point is sent without its pins or authorities")
  func trust() async throws {
    let engine = DecisionEngine.authzen { .decisions($0.map { _ in true }) }
    let pins = try KeyPins(["sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="], scope: .leaf)
    let tls = TLSSettings(caFile: "/ca.pem", pins: pins)
    _ = await engine.ask(["a"], at: try engine.point { $0.access.tls = tls })
    #expect(
      engine.engine.transport.options.count == 2 && engine.engine.transport.options.allSatisfy { $0.access.tls == tls })
  }

  @Test("OPA: everything below input, the resources as they are")
  func opa() async throws {
    let engine = DecisionEngine { request, _ in
      request.method == "GET" ? .status(200) : .json(#"{"result":{"a":true},"decision_id":"d-1"}"#)
    }
    let provider = try OPAProvider(.init(baseURL: try HTTPURL("https://opa.test"), path: "tv/decisions"))
    let response = await engine.ask(["a", Self.fragment], at: Self.point(provider), disabled: [.remoteCache])
    let mrss = JSONWriter().string(.string(Self.fragment))
    #expect(
      Self.text(engine.posts.first)
        == #"{"input":{"subject":{"type":"user","id":"alice"},"action":{"name":"GET"},"context":{},"resources":["#
        + #"{"type":"channel","id":"a"},{"type":"channel","id":\#(mrss),"title":"A, \"B\" & Ç","rating":"tv-pg"}],"#
        + #""bypass_cache":true}}"#)
    #expect(engine.posts.first?.url.description == "https://opa.test/v1/data/tv/decisions")
    #expect(response.decisions.map(\.isAuthorized) == [true, false])
    #expect(response.decisions[1].error?.code == "server_response_format_unknown")
    #expect(response.decisions[1].error?.action == "retry")
  }

  @Test("an access manager: resources, policy set, claims and environment, with the evaluator's session")
  func accessManager() async throws {
    let engine = DecisionEngine { _, _ in .json(#"[{"resource":"a","actions":{"GET":true},"ttl":1}]"#) }
    var settings = AccessManagerProvider.Settings(
      baseURL: try HTTPURL("https://am.test/am"), evaluator: .ssoToken(Secret("evaluator")))
    settings.application = "tv"
    let provider = try AccessManagerProvider(settings, clock: engine.clock)
    _ = await engine.ask(["a", "b"], at: Self.point(provider), context: ["ip": "::1", "n": [1, "x"]])
    let request = try #require(engine.posts.first)
    #expect(
      Self.text(request)
        == #"{"resources":["a","b"],"application":"tv","subject":{"claims":{"sub":"alice"}},"#
        + #""environment":{"ip":["::1"],"n":["1","x"]}}"#)
    #expect(request.url.description == "https://am.test/am/json/realms/root/policies?_action=evaluate")
    #expect(request.fields["iPlanetDirectoryPro"] == "evaluator" && request.fields["Cache-Control"] == nil)
    #expect(request.fields["Accept-API-Version"] == "resource=2.1, protocol=1.0")
  }

  static let answers: [(HTTPResponse, PreauthorizeResponse.Outcome, Int, String, String)] = [
    (.json(#"{"evaluations":[{"decision":true}]}"#), .failure, 0, "server_response_format_unknown", "none"),
    (.json(#"{"evaluations":[]}"#), .failure, 0, "server_response_format_unknown", "none"),
    (.json(#"{"decision":true}"#), .failure, 0, "server_response_format_unknown", "none"),
    (.json(#"{"code":"blocked","action":"dance","message":"m"}"#, status: 451), .response, 451, "blocked", "dance"),
    (.status(451), .response, 451, "bad_request", "none"),
    (.status(401, ("WWW-Authenticate", #"Bearer realm="pdp""#)), .failure, 0, "access_token_unavailable", "none"),
    (.status(429, ("Content-Type", "text/html")), .response, 429, "too_many_requests", "retry-after"),
    (.status(503), .response, 503, "internal_server_error", "none"),
    (.status(500, ("Retry-After", "soon")), .response, 500, "internal_server_error", "none"),
  ]

  @Test(
    "the error for an answer without decisions names it, with the identifier by which the decision point finds it",
    arguments: answers)
  func faults(
    answer: HTTPResponse, outcome: PreauthorizeResponse.Outcome, status: Int, code: String, action: String
  ) async throws {
    let engine = DecisionEngine { request, _ in request.method == "GET" ? .status(404) : answer }
    let response = await engine.ask(["a", "b"], at: try engine.point { $0.attempts = 1 })
    #expect(response.outcome == outcome && response.decisions.isEmpty)
    #expect(response.status?.status == status && response.status?.code == code && response.status?.action == action)
    // The challenge was for the sidecar.
    #expect(response.status?.details?.contains("realm") != true)
    if status == 451 { #expect(response.status?.trace == engine.posts.first?.fields["X-Request-ID"]) }
  }

  @Test("OPA without its bundles is not configured yet, and is queried when it has them")
  func readiness() async throws {
    let isReady = Locked(false)
    let engine = DecisionEngine { request, _ in
      guard request.method == "GET" else { return .json(#"{"result":{"a":true}}"#) }
      return .status(isReady.withLock { $0 } ? 200 : 500)
    }
    let point = Self.point(try OPAProvider(.init(baseURL: try HTTPURL("https://opa.test"), path: "p")))
    let response = await engine.ask(["a"], at: point)
    #expect(response.outcome == .failure && response.status?.code == "requestor_not_configured")
    #expect(engine.posts.isEmpty)
    isReady.withLock { $0 = true }
    #expect(await engine.ask(["a"], at: point).decisions.first?.isAuthorized == true)
  }

  @Test("a delay that is given as a date is observed")
  func retryDate() async throws {
    let counter = Counter()
    let engine = DecisionEngine { request, _ in
      if request.method == "GET" { return .status(404) }
      guard counter.next() > 1 else {
        return .status(
          429, ("Date", "Fri, 15 Jan 2027 08:00:00 GMT"), ("Retry-After", "Fri, 15 Jan 2027 08:00:05 GMT"))
      }
      return .decisions([true])
    }
    let clock = engine.clock
    let point = try engine.point()
    async let response = engine.ask(["a"], at: point)
    #expect(await eventually { counter.current == 1 && clock.sleeperCount == 1 })
    clock.advance(by: .milliseconds(4999))
    #expect(counter.current == 1)
    clock.advance(by: .milliseconds(1))
    #expect(await response.decisions.first?.isAuthorized == true)
  }

  @Test("a cache that a decision point cannot bypass is reported, and only if it was to be bypassed")
  func unhonored() async throws {
    struct Deaf: DecisionProvider {
      let unhonoredFeatures: Set<PreauthorizeRequest.Feature> = [.remoteCache]
      func evaluate(_ batch: DecisionBatch, over link: DecisionClient) async -> [DecisionVerdict?] {
        batch.resources.map { _ in .permit(lifetime: nil) }
      }
    }
    let engine = DecisionEngine { _, _ in .status(404) }
    let point = Self.point(Deaf())
    #expect(await engine.ask(["a"], at: point, disabled: [.remoteCache]).unhonoredFeatures == [.remoteCache])
    #expect(await engine.ask(["a"], at: point, disabled: [.localCache]).unhonoredFeatures == [])
  }
}
