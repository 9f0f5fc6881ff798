import EngineTestSupport
import OAuthClient
import PosternSupport
import PosternTestSupport
import Testing

/// The scope of work that several callers share.
@Suite struct CallScopeTests {
  private enum Failure: Error {
    case left
  }

  @Test(
    "a shared run works for the uid that began it, or for nobody where runs serve everybody", arguments: [true, false])
  func sharedRuns(servesEverybody: Bool) async throws {
    let flights = SingleFlight<String, CallScope, Failure>(
      clock: ManualClock(), servesEverybody: servesEverybody, failure: { _ in .left })
    let deadline = Deadline(in: .seconds(1), on: ManualClock())
    let scope = try await flights.value(for: "key", in: .uid(7, by: deadline)) { scope async throws(Failure) in scope }
    #expect(scope.peer == (servesEverybody ? .process : PeerID(uid: 7, connection: 0)))
    #expect(scope.deadline.instant == nil, "the run is not bounded by the caller that began it")
  }

  @Test("work of a call keeps the call's names in the log when its requests have no trace, and when users share it")
  func label() {
    var call = CallScope.uid(7, trace: TraceContext(parent: "00-\(String(repeating: "a", count: 32))-b-01"))
    call.label = CallScope.Label(method: "fetchResource", traceparent: "00-\(String(repeating: "a", count: 32))-b-01")
    for scope in [call.untraced, call.shared, call.unbounded, call.of(8)] {
      #expect(scope.label?.method == "fetchResource" && scope.label?.traceID == call.label?.traceID)
    }
    #expect(call.untraced.trace == nil && call.shared.uid == PeerID.process.uid && call.of(8).uid == 8)
  }
}
