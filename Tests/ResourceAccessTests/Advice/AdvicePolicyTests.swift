import AuthEngine
import EngineTestSupport
import HTTPMessages
import PosternSupport
import PosternTestSupport
import Testing

/// A fetch whose authorization policy cannot take effect: an error at once, not an answer whose advice is ignored.
@Suite(.bothWays) struct AdvicePolicyTests {
  private typealias Bench = AdviceBench

  private func fault(
    _ bench: AdviceBench, at url: String = "https://api.test/shop/",
    _ change: (inout ResourceServer) throws -> Void
  ) async throws -> ResourceError? {
    let session = try await bench.session()
    bench.answer { _, _ in .status(200) }
    var server = bench.server
    try change(&server)
    var options = FetchOptions()
    options.session = SessionRef(
      handle: session.handle, uid: 1, issuer: bench.issuer, sessions: bench.grants.sessions)
    var advice = FetchAdvice()
    advice.policy = AuthorizationPolicy(validatingURL: [try HTTPURL(url)], delegate: bench.delegate)
    options.advice = advice
    return await Bench.fault { [server, options] in
      _ = try await bench.grants.fetcher.fetch(ResourceRequest(path: "pay"), from: server, options: options)
    }
  }

  @Test("A policy for a server whose rules permit no advice is taken for one that works")
  func withoutTheRest() async throws {
    let bench = try Bench()
    let error = try await fault(bench) { $0.advice = AdviceRules() }
    #expect(error?.code == .invalidParams && error?.outcome == .notSent && error?.retryable == false)
    #expect(error?.detail.contains("no access manager") == true, "\(error?.detail ?? "no error")")
    #expect(bench.requests.isEmpty)
  }

  @Test("A policy that has all it needs, or is for other URLs, gets in the way")
  func unaffected() async throws {
    let changes: [@Sendable (inout ResourceServer) -> Void] = [
      { _ in }, { $0.advice = nil }, { $0.authentication = .none },
    ]
    for change in changes {
      let bench = try Bench()
      let error = try await fault(bench) { change(&$0) }
      #expect(error == nil && bench.requests.count == 1)
    }
    let elsewhere = try await fault(Bench(), at: "https://other.test/") { $0.advice = AdviceRules() }
    #expect(elsewhere == nil)
  }
}
