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
}
