import AuthEngine
import EngineTestSupport
import PosternSupport
import PosternTestSupport
import Testing

@testable import OAuthClient
@testable import Sessions

@Suite("Sessions that the store could not take")
struct UnsavedSessionTests {
  @Test("a store that is out of order when the issuer ends a session gives its tokens back afterwards")
  func overWithoutStore() async throws {
    let store = TroubledStore()
    let bench = try SessionBench(store: store)
    let session = try await bench.session()
    bench.provider.withLock { $0.answers = [.json(#"{"error":"invalid_grant"}"#, status: 400)] }
    let old = try await bench.token(session)
    store.failReplacements(1000)
    let rejected = Task { try await bench.token(session, replacing: old) }
    // Each try to write waits for a moment.
    #expect(
      await eventually {
        bench.clock.advance(by: .milliseconds(10))
        return !bench.events.names.isEmpty
      })
    await #expect(throws: SessionError.self) { try await rejected.value }
    store.failReplacements(0)
    #expect(await SessionRefreshTests.isExpired { try await bench.token(session) })
    #expect(bench.events.names == ["ended"])
    let restarted = try SessionBench(store: store, alongside: bench)
    #expect(await SessionRefreshTests.isExpired { try await restarted.token(session) }, "the store has it by now")
  }

  @Test(
    "a refresh that could not be stored is stored later: its refresh token is never lost, nor the old one sent twice")
  func unsaved() async throws {
    let store = TroubledStore()
    let bench = try SessionBench(store: store)
    let session = try await bench.session()
    let old = try await bench.token(session)
    await failToStore(bench, store) { try await bench.token(session, replacing: old) }
    #expect(bench.refreshes == ["r-0", "r-1"])
    #expect(try await bench.token(session, replacing: old).value.reveal() == "a-2")
    #expect(bench.refreshes == ["r-0", "r-1"])
    let token = try await bench.token(session)
    #expect(try await bench.token(session, replacing: token).value.reveal() == "a-3")
    #expect(bench.provider.withLock { $0.isReused } == false)
  }

  @Test(
    "a session that the store cannot remove is over all the same, by the user and by the issuer",
    arguments: [true, false])
  func endsWithoutStore(isUsers: Bool) async throws {
    let store = TroubledStore()
    let bench = try SessionBench(store: store)
    let session = try await bench.session()
    let other = try await bench.session()
    _ = try await bench.token(session)
    store.failRemovals(after: 0)
    await #expect(throws: SessionError.self) {
      if isUsers {
        _ = try await bench.sessions.end(session.handle, at: nil, in: .uid(1))
      } else {
        _ = try await bench.sessions.endHere(session.handle, ownedBy: 1, in: .uid(1))
      }
    }
    await #expect(throws: SessionError.self) { try await bench.token(session) }
    _ = try await bench.token(other)
    await bench.sessions.writeUnsaved()
    let restarted = try SessionBench(store: store, alongside: bench)
    #expect(await SessionRefreshTests.isExpired { try await restarted.token(session) }, "the store has it by now")
  }

  @Test("a process that exits loses a refreshed token, and the next one presents the old one to the issuer")
  func written() async throws {
    let store = TroubledStore()
    let bench = try SessionBench(store: store)
    let session = try await bench.session()
    let old = try await bench.token(session)
    await failToStore(bench, store) { try await bench.token(session, replacing: old) }
    await bench.sessions.writeUnsaved()
    let next = try SessionBench(store: store, alongside: bench)
    let refreshed = try await next.token(session)
    #expect(refreshed.value.reveal() == "a-2")
    #expect(try await next.token(session, replacing: refreshed).value.reveal() == "a-3")
    #expect(!bench.provider.withLock { $0.isReused })
  }

  /// Runs a refresh while the store accepts no write, not at the third retry either.
  private func failToStore(
    _ bench: SessionBench, _ store: TroubledStore, _ operation: @escaping @Sendable () async throws -> AccessToken
  ) async {
    store.failReplacements(4)
    let refresh = Task { try await operation() }
    for _ in 0..<3 {
      #expect(await eventually { bench.clock.sleeperCount == 1 })
      bench.clock.advance(by: .seconds(1))
    }
    await #expect(throws: SessionError.self) { try await refresh.value }
  }
}
