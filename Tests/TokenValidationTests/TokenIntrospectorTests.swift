import AuthEngine
import EngineTestSupport
import HTTPMessages
import JOSE
import PosternSupport
import PosternTestSupport
import Testing

@testable import OAuthClient
@testable import TokenValidation

/// The request of an introspection, and what becomes of answers that are none.
@Suite struct TokenIntrospectorTests {
  private struct Bench {
    let transport: ScriptedTransport
    let clock = ManualClock()
    let observer = RecordingObserver()
    let introspector: TokenIntrospector

    init(_ script: @escaping ScriptedTransport.Script) {
      transport = ScriptedTransport(script)
      let services = Services.testing(transport, clock: clock, observer: observer)
      introspector = TokenIntrospector(services, discovery: ProviderDiscovery(services))
    }

    func ask(
      _ token: String = "opaque", hint: String? = nil, in scope: CallScope = .uid()
    ) async throws -> IntrospectionVerdict {
      try await introspector.verdict(
        on: Secret(token), hint: hint,
        issuer: .testing(endpoints: [.introspection: "https://idp.test/introspect"]), expecting: .init(),
        configuration: IDTokenConfiguration(issuer: "https://idp.test"), keys: StaticJWKSet(JWKSet([])),
        in: scope)
    }
  }

  @Test("the request is a form with client authentication that accepts a signed answer or a plain one")
  func question() async throws {
    let bench = Bench { _, _ in .json(#"{"active":true,"sub":"alice"}"#) }
    #expect(try await bench.ask("a b+c", hint: "access_token").fault == nil)
    let request = try #require(bench.transport.requests.first)
    #expect(request.method == "POST")
    #expect(String(decoding: request.body ?? [], as: UTF8.self) == "token=a+b%2Bc&token_type_hint=access_token")
    #expect(request.fields["Authorization"]?.hasPrefix("Basic ") == true)
    #expect(request.fields["Accept"] == "application/token-introspection+jwt, application/json;q=0.9")
  }

  @Test("an answer is not kept: a revocation is seen by the next call")
  func notKept() async throws {
    let answers = Locked([#"{"active":true}"#, #"{"active":false}"#])
    let bench = Bench { _, _ in .json(answers.withLock { $0.removeFirst() }) }
    #expect(try await bench.ask().fault == nil)
    #expect(try await bench.ask().fault?.code == .inactive)
  }

  @Test("callers that ask the same at the same time share one request, others do not")
  func shared() async throws {
    let gate = Gate()
    let bench = Bench { _, _ in
      await gate.pass()
      return .json(#"{"active":true}"#)
    }
    let question = TokenIntrospector.Question(
      uid: CallScope().uid, issuer: try .testing(endpoints: [.introspection: "https://idp.test/introspect"]),
      token: Secret("opaque"), hint: nil)
    let faults = try await withThrowingTaskGroup(of: TokenFault?.self) { group in
      for _ in 0..<20 { group.addTask { try await bench.ask().fault } }
      group.addTask { try await bench.ask("other").fault }
      #expect(
        await eventually { gate.waiterCount == 2 && bench.introspector.flights.waiterCount(for: question) == 20 })
      gate.open()
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(faults == Array(repeating: nil, count: 21))
    #expect(bench.transport.requests.count == 2)
  }

  @Test(
    "a failure is an error of the right kind, reported to the observer",
    arguments: [(401, false), (403, false), (404, false), (429, true), (500, true), (503, true)])
  func unanswered(status: Int, isOutage: Bool) async throws {
    let bench = Bench { _, _ in .json(#"{"error":"invalid_client","active":true}"#, status: status) }
    do {
      _ = try await bench.ask()
      Issue.record("an answer of \(status) was taken")
    } catch IntrospectionError.unanswered(let error) {
      switch error.kind {
      case .unavailable(let oauth): #expect(isOutage && oauth?.code == "invalid_client")
      case .rejected(let oauth): #expect(!isOutage && oauth?.code == "invalid_client")
      default: Issue.record("another kind: \(error.kind)")
      }
      #expect(error.status == status)
    }
    let failures = bench.observer.events.count { if case .introspectionFailed = $0 { true } else { false } }
    #expect(failures == 1)
  }

  @Test("a server out of reach, a metadata without the endpoint and a passed deadline are told apart")
  func unreachable() async throws {
    let bench = Bench { request, _ throws(TransportError) in
      throw TransportError(code: .serverUnreachable, outcome: .notSent, detail: "")
    }
    await #expect(throws: IntrospectionError.self) { try await bench.ask() }
    await #expect(throws: IntrospectionError.self) {
      try await bench.ask(in: .uid(by: Deadline(instant: bench.clock.monotonicNow)))
    }
    #expect(bench.transport.requests.count == 1, "a caller without time left sends nothing")
  }

  @Test("a token over the limit is rejected before a request is sent")
  func tooLarge() async throws {
    let bench = Bench { _, _ in .json(#"{"active":true}"#) }
    let verdict = try await bench.ask(String(repeating: "t", count: 65_537))
    #expect(verdict.fault?.code.rawValue == "token_too_large")
    #expect(bench.transport.requests.isEmpty)
  }
}
