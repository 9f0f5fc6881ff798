import AuthEngine
import EngineTestSupport
import HTTPMessages
import PosternSupport
import PosternTestSupport
import Testing

/// The events that delegates get: the request without its token, the URL, the task, the response.
@Suite(.bothWays) struct PolicyEventTests {
  /// Implements the forms with the event alone; the other forms are the protocols' own.
  private final class EventDelegate: AuthorizationPolicyDelegate, TokenManagementPolicyDelegate {
    struct Call: Sendable {
      let name: String
      let event: PolicyEvent
    }

    private let log = Locked<[Call]>([])
    let refreshes: Bool?

    init(refreshes: Bool? = nil) { self.refreshes = refreshes }

    var calls: [Call] { log.withLock { $0 } }
    func event(_ name: String) -> PolicyEvent? { calls.first { $0.name == name }?.event }

    private func note(_ name: String, _ event: PolicyEvent) {
      log.withLock { $0.append(Call(name: name, event: event)) }
    }

    func evaluateTokenRefresh(_ event: PolicyEvent) async -> Bool? {
      note("refresh", event)
      return refreshes
    }

    func evaluateAuthorizationPolicy(_ event: PolicyEvent) async -> [PolicyAdvice]? {
      note("evaluate", event)
      return nil
    }

    func onPolicyAdviseReceived(
      _ advices: [PolicyAdvice], event: PolicyEvent, continuation: String?
    ) async -> Bool? {
      note("received", event)
      return true
    }

    func updateRequest(_ event: PolicyEvent, txId: String?) async -> RequestUpdate? {
      note("update", event)
      return RequestUpdate(url: "?changed=\(txId ?? "")")
    }
  }

  /// Implements none of a protocol's methods.
  private struct Silent: AuthorizationPolicyDelegate, TokenManagementPolicyDelegate {}

  @Test("Each method of a delegate lacks the request, its token-free fields, the task, the session or the response")
  func events() async throws {
    let bench = try AdviceBench()
    let session = try await bench.session()
    bench.answer { number, _ in
      number == 1 ? AdviceBench.rejection(AdviceBench.transaction("t-1")) : .status(200)
    }
    let delegate = EventDelegate()
    let request = ResourceRequest(path: "pay?to=bob", method: "POST", body: [65], headers: ["X-Own": "1"])
    let task = NetworkTask(request: request, clock: bench.grants.clock)
    var options = FetchOptions()
    options.task = task
    options.session = SessionRef(
      handle: session.handle, uid: 1, issuer: bench.issuer, sessions: bench.grants.sessions)
    options.advice = FetchAdvice(delegate: delegate)
    options.tokenDelegate = delegate
    let response = try await bench.grants.fetcher.fetch(request, from: bench.server, options: options)
    #expect(response.status == 200)
    #expect(bench.requests.map(\.url.query) == ["to=bob", "changed=t-1"])
    #expect(bench.requests.allSatisfy { $0.fields["Authorization"] == "Bearer given" })
    #expect(delegate.calls.map(\.name) == ["evaluate", "received", "update", "evaluate", "refresh"])
    for call in delegate.calls {
      let event = call.event
      #expect(event.task === task && event.session == session.handle && event.request.method == "POST")
      #expect(event.request.fields["X-Own"] == "1" && event.request.fields["Authorization"] == nil, "\(call.name)")
      #expect(event.request.body == [65] && event.url == event.request.url)
    }
    #expect(delegate.event("received")?.response?.status == 401 && delegate.event("update")?.response?.status == 401)
    #expect(delegate.event("received")?.url.query == "to=bob")
    #expect(delegate.event("refresh")?.response?.status == 200 && delegate.event("refresh")?.url.query == "changed=t-1")
  }

  @Test(
    "The decision of the form with the event does not count, also where a program sends by itself",
    arguments: [true, false])
  func refresh(_ decision: Bool) async throws {
    let delegate = EventDelegate(refreshes: decision)
    let policy = TokenManagementPolicy(validatingURL: [try HTTPURL("https://api.test/")], delegate: delegate)
    let engine = Engine { request, _ in request.url.path == "/token" ? .token("a-1") : .status(200) }
    let token = try await engine.tokens.token(for: ClientCredentialsGrant(issuer: .testing()))
    let request = HTTPRequest(method: "GET", url: try HTTPURL("https://api.test/x?code=secret"))
    let event = PolicyEvent(request: policy.authorizing(request, with: token), response: .status(200))
    #expect(event.request.fields["Authorization"] == nil)
    #expect("\(event)" == "GET https://api.test/x, status 200")
    #expect(await policy.requiresRefresh(event, of: token) == decision)
    _ = try await policy.send(request, over: engine.transport, orThrow: { $0 }) { _ throws(TransportError) in token }
    #expect(engine.transport.requests(to: "https://api.test/").count == (decision ? 2 : 1))
  }

  @Test("A fetch without a task of its own gives its delegate none, or one that does not cancel it")
  func cancelling() async throws {
    struct Cancelling: TokenManagementPolicyDelegate {
      func evaluateTokenRefresh(_ event: PolicyEvent) async -> Bool? {
        event.task?.cancel()
        return nil
      }
    }
    let engine = Engine { request, _ in request.url.path == "/token" ? .token("a-1") : .status(200) }
    var options = FetchOptions()
    options.tokenDelegate = Cancelling()
    let error = await AdviceBench.fault { [options] in
      _ = try await engine.fetcher.fetch(ResourceRequest(path: "x"), from: .testing(), options: options)
    }
    #expect(error?.code == .requestCancelled)
  }

  /// Of all runs: each type is told once.
  private static let warnings = Locked<[String]>([])

  @Test("A delegate whose method is misspelt is silent, or one in the SDKs' spelling is not called")
  func misspelt() async throws {
    struct Misspelt: AuthorizationPolicyDelegate {
      func onPolicyAdvicesReceived(_ advices: [PolicyAdvice], event: PolicyEvent, continuation: String?) async -> Bool?
      {
        true
      }
    }
    struct OfSDK: AuthorizationPolicyDelegate {
      func onPolicyAdviseReceived(_ advices: [PolicyAdvice], event: PolicyEvent, continuation: String?) async -> Bool? {
        true
      }
    }
    let warnings = Self.warnings
    let usual = LibraryWarnings.handler
    defer { LibraryWarnings.handler = usual }
    LibraryWarnings.handler = { text in
      if text.contains("Misspelt") { warnings.withLock { $0.append(text) } }
    }
    let url = try HTTPURL("https://api.test/shop/pay")
    let event = PolicyEvent(request: HTTPRequest(method: "GET", url: url), response: nil)
    for _ in 0..<2 {
      let policy = AuthorizationPolicy(validatingURL: [url], delegate: Misspelt())
      #expect(await policy.satisfy([PolicyAdvice(type: "Own", value: "x")], event: event) == nil)
    }
    #expect(
      warnings.withLock { $0.count } == 1 && warnings.withLock { $0[0].contains("onPolicyAdviceReceived(_:event:") })
    let policy = AuthorizationPolicy(validatingURL: [url], delegate: OfSDK())
    #expect(await policy.satisfy([PolicyAdvice(type: "Own", value: "x")], event: event) == true)
  }

  @Test("A delegate that implements nothing takes over a decision of the policy's own rules")
  func silent() async throws {
    let url = try HTTPURL("https://api.test/shop/pay")
    let policy = AuthorizationPolicy(validatingURL: [url], delegate: Silent())
    let event = PolicyEvent(
      request: HTTPRequest(method: "GET", url: url), response: AdviceBench.rejection(AdviceBench.transaction("t")))
    let found = await policy.evaluateAuthorizationPolicy(event)
    #expect(found.map(\.txId) == ["t"])
    #expect(await policy.satisfy(found, event: event) == nil)
    #expect(try await policy.updating(event, for: "t").url.query == "_txid=t")
    let tokens = TokenManagementPolicy(validatingURL: [url], delegate: Silent())
    let engine = Engine { _, _ in .token("a-1") }
    let token = try await engine.tokens.token(for: ClientCredentialsGrant(issuer: .testing()))
    #expect(await tokens.requiresRefresh(PolicyEvent(request: event.request, response: .unauthorized), of: token))
  }
}
