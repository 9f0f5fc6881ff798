import AuthEngine
import EngineTestSupport
import HTTPMessages
import PosternJSON
import PosternSupport
import PosternTestSupport
import Testing

/// The access manager's answers: a step, the end, a rejection, or a fault, and never one for the other.
@Suite struct JourneyOutcomeTests {
  private static let suspendedFault =
    "org.forgerock.openam.auth.nodes.framework.token.SuspendedAuthSessionException: x"

  @Test(
    "A fault is reported as a rejection, a rejection as a fault, or a malformed page is passed to the caller",
    arguments: [
      (200, #"{"authId":"i","callbacks":[]}"#, "callbacks"),
      (200, #"{"authId":"i","callbacks":[{"type":"X"}]}"#, "callbacks"),
      (200, #"{"tokenId":"t.1"}"#, "completed"),
      (
        401, #"{"code":401,"reason":"Unauthorized","message":"Login failure","detail":{"failureUrl":""}}"#,
        "failed 401 Login failure"
      ),
      (401, #"{"failure":true,"reason":"http-auth-failed","authId":"i"}"#, "failed 401 http-auth-failed"),
      (401, #"{"code":401,"message":"x","detail":{"errorCode":"110"}}"#, "timedOut"),
      (401, #"{"code":401,"message":"x","detail":{"errorCode":110}}"#, "timedOut"),
      (401, #"{"code":401,"message":"\#(suspendedFault)"}"#, "timedOut"),
      (500, #"{"code":500,"message":"\#(suspendedFault)"}"#, "timedOut"),
      (401, #"{"code":401,"message":"Unable to read transaction.","detail":{"errorCode":"128"}}"#, "manager 401 128"),
      (401, #"{"code":401,"message":"x","detail":{"errorCode":"1"}}"#, "manager 401 1"),
      (401, "{}", "manager 401 -"), (401, "", "manager 401 -"), (401, "<html>", "manager 401 -"),
      (400, #"{"code":400,"message":"Invalid callbacks"}"#, "manager 400 -"),
      (403, #"{"code":403,"message":"x"}"#, "manager 403 -"), (500, "{}", "manager 500 -"),
      (302, "", "manager 302 -"), (200, "", "manager 200 -"), (200, "<html>", "manager 200 -"),
      (200, "[]", "manager 200 -"), (200, "{", "manager 200 -"), (200, "{}", "manager 200 -"),
      (200, #"{"tokenId":null}"#, "manager 200 -"), (200, #"{"tokenId":1}"#, "manager 200 -"),
      (200, #"{"tokenId":""}"#, "manager 200 -"), (200, #"{"tokenId":"a;b=c"}"#, "manager 200 -"),
      (200, #"{"tokenId":"a b"}"#, "manager 200 -"), (200, #"{"tokenId":"a\u0301"}"#, "manager 200 -"),
      (200, #"{"tokenId":"a\r\nX: y"}"#, "manager 200 -"),
      (200, #"{"tokenId":"\#(String(repeating: "a", count: 16_385))"}"#, "manager 200 -"),
      (200, #"{"authId":1,"callbacks":[]}"#, "manager 200 -"),
      (200, #"{"authId":"","callbacks":[]}"#, "manager 200 -"), (200, #"{"authId":"i"}"#, "manager 200 -"),
      (200, #"{"authId":"i","callbacks":[{}]}"#, "manager 200 -"),
      (200, #"{"authId":"i","callbacks":[1]}"#, "manager 200 -"),
      (200, #"{"authId":"i","callbacks":{}}"#, "manager 200 -"),
      (
        200, #"{"authId":"i","callbacks":[\#(Array(repeating: #"{"type":"X"}"#, count: 257).joined(separator: ","))]}"#,
        "manager 200 -"
      ),
      (
        200,
        #"{"authId":"i","callbacks":[{"type":"X","o":\#(String(repeating: "[", count: 99))\#(String(repeating: "]", count: 99))}]}"#,
        "manager 200 -"
      ),
    ])
  func answers(status: Int, body: String, expected: String) async throws {
    let bench = try JourneyBench()
    bench.then { _ in .json(body, status: status) }
    #expect(await JourneyBench.word { try await bench.login() } == expected)
    #expect(bench.journeys.waitingCount == (expected == "callbacks" ? 1 : 0))
  }

  @Test("A refusal's words and details are lost, or its realm's Negotiate is taken for advice")
  func rejection() async throws {
    let bench = try JourneyBench()
    bench.then { _ in
      var answer = HTTPResponse.json(
        #"{"code":401,"reason":"Unauthorized","message":"Login failure","detail":{"failureUrl":"https://x.test"}}"#,
        status: 401)
      answer.fields["WWW-Authenticate"] = "Negotiate"
      return answer
    }
    guard case .failed(let failure) = try await bench.login() else {
      Issue.record("no rejection")
      return
    }
    #expect(failure.code == 401 && failure.detail == ["failureUrl": "https://x.test"])
  }

  @Test("An access manager that is away costs more than the call, or reads as its own answer")
  func away() async throws {
    let bench = try JourneyBench()
    for outcome in [TransportError.Outcome.notSent, .sentNoReply, .replied] {
      bench.then { _ throws(TransportError) in
        throw TransportError(code: .serverUnreachable, outcome: outcome, detail: "")
      }
      #expect(await JourneyBench.word { try await bench.login() } == "unreachable \(outcome.rawValue)")
    }
  }

  @Test("A token in a cookie that no script reads is missed, or one is taken where none was requested")
  func hiddenToken() async throws {
    @Sendable func answer(_ tokenID: String, _ cookies: String...) -> HTTPResponse {
      var answer = HTTPResponse.json(#"{\#(tokenID)"successUrl":"/"}"#)
      for cookie in cookies { answer.fields.append("Set-Cookie", cookie) }
      return answer
    }
    let bench = try JourneyBench()
    bench.then { _ in answer(#""tokenId":"","#, "other=x", "sso=\"\(JourneyBench.newer)\"; Path=/; HttpOnly; Secure") }
    let session = try #require(try await bench.login().end?.session)
    #expect(bench.grants.sent(to: JourneyBench.authorize).last?["csrf"] == JourneyBench.newer)
    #expect(try await bench.grants.sessions.session(session, in: .uid(1)).subject == "user-1")
    for (answer, isForced) in [(answer(#""tokenId":"","#, "sso=x"), true), (answer("", "sso=x"), false)] {
      bench.then { _ in answer }
      let end = try await bench.journeys.begin(
        .login(tree: nil, withoutSession: true, forced: isForced), at: bench.issuer, in: .uid(1)
      ).end
      #expect(end != nil && end?.session == nil)
    }
    #expect(bench.logouts.isEmpty)
    // A token that comes all the same is not used.
    bench.thenToken("t-9")
    _ = try await bench.journeys.begin(.login(tree: nil, withoutSession: true), at: bench.issuer, in: .uid(1))
    #expect(bench.logouts == ["sso=t-9 t-9"])
  }

  @Test("A tree that ends without a session token is an error, or its user gets a session")
  func treeWithoutSession() async throws {
    let bench = try JourneyBench()
    for text in [#"{"successUrl":"/x","realm":"/"}"#, #"{"successUrl":"/enduser/","realm":"/alpha"}"#] {
      bench.then { _ in .json(text) }
      let end = try #require(try await bench.login().end)
      #expect(end.session == nil && !end.isUpgraded)
    }
    // A step-up keeps the session as it is.
    let session = try await bench.session()
    bench.then { _ in .json(#"{"successUrl":"/x","realm":"/"}"#) }
    let end = try #require(try await bench.stepUp(session).end)
    #expect(end.session == session.handle && !end.isUpgraded)
    // What is no answer of an access manager is none that ends a tree.
    bench.then { _ in .json(#"{"status":"ok"}"#) }
    await #expect(throws: JourneyError.self) { try await bench.login() }
  }

  @Test("The cookie's name is requested at each step, or the step is lost when it is not available")
  func cookieName() async throws {
    let bench = try JourneyBench(cookieName: nil)
    let session = try await bench.session()
    bench.thenPage()
    let step = try #require(try await bench.stepUp(session).step)
    #expect(bench.submissions.last?.fields["Cookie"] == "tenant=\(JourneyBench.sso)")
    #expect(bench.grants.transport.requests(to: "https://am.test/am/json/serverinfo/").count == 1)
    let bench2 = try JourneyBench(cookieName: nil)
    bench2.grants.answer("/am/json/serverinfo/*") { _, _ in .status(503) }
    #expect(await JourneyBench.word { try await bench2.login() } == "manager 503 -")
    #expect(bench2.submissions.isEmpty)
    _ = step
  }

  @Test("The user's token is passed to the caller in the access manager's answer")
  func echo() async throws {
    let bench = try JourneyBench()
    let session = try await bench.session()
    bench.thenPage(JourneyBench.callback("TextOutputCallback", prompt: "you are \(JourneyBench.sso)"))
    #expect(await JourneyBench.word { try await bench.stepUp(session) } == "manager 200 -")
    bench.then { _ in .json(#"{"code":401,"message":"no \#(JourneyBench.sso)"}"#, status: 401) }
    #expect(await JourneyBench.word { try await bench.stepUp(session) } == "manager 401 -")
  }

  @Test("What can never come to an end is begun: no access manager, no redirectUri")
  func impossible() async throws {
    let bench = try JourneyBench()
    let without = try bench.grants.issuer()
    #expect(
      await JourneyBench.word { try await bench.journeys.begin(.login(tree: nil), at: without, in: .uid(1)) }
        == "session grant_not_supported")
    let deny = PolicyAdvice(type: PolicyAdvice.Name.session, value: "deny")
    let session = try await bench.session()
    for advices in [[], [deny], [PolicyAdvice(type: PolicyAdvice.Name.service, value: "x"), deny]] {
      #expect(JourneyRequest.stepUp(session.handle, advices: advices) == nil)
    }
    #expect(bench.submissions.isEmpty)
  }
}
