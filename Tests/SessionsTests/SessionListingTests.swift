import AuthEngine
import EngineTestSupport
import PosternSupport
import PosternTestSupport
import Testing

@testable import Sessions

/// Lists of sessions are read piece by piece, and what one owner holds is bounded in bytes.
@Suite("Lists of sessions", .timeLimit(.minutes(2)))
struct SessionListingTests {
  private static func grant(_ token: String = "given") -> SessionGrant {
    var given = SessionGrant.GivenTokens()
    given.accessToken = Secret(token)
    given.expiresIn = 3600
    return .tokens(given)
  }

  @Test("a list reads all sessions at once, so that all other calls wait until it is done")
  func pieces() async throws {
    let store = TroubledStore()
    let bench = try SessionBench(store: store)
    for _ in 0..<200 { _ = try await bench.sessions.create(from: Self.grant(), at: bench.issuer, in: .uid(1)) }
    let read = store.listings
    #expect(try await bench.sessions.sessions(in: .uid(1)).count == 200)
    #expect(store.largestListing <= SessionRepository.pieceSize)
    #expect(store.listings - read >= 200 / SessionRepository.pieceSize)
  }

  @Test("a list goes on though it was cancelled, or its reader wants no more")
  func ends() async throws {
    let store = TroubledStore()
    let bench = try SessionBench(store: store)
    for _ in 0..<100 { _ = try await bench.sessions.create(from: Self.grant(), at: bench.issuer, in: .uid(1)) }
    var read = store.listings
    var seen = 0
    try await bench.sessions.forEachSession(in: .uid(1)) { _, _ in
      seen += 1
      return seen < 3
    }
    #expect(seen == 3 && store.listings == read + 1)
    read = store.listings
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      _ = try await bench.sessions.sessions(in: .uid(1))
    }
    await #expect(throws: SessionError.self) { try await task.value }
    #expect(store.listings == read + 1)
  }

  @Test("a call for the only session does not read all of them, however many there are")
  func choice() async throws {
    let store = TroubledStore()
    let bench = try SessionBench(store: store)
    for _ in 0..<100 { _ = try await bench.sessions.create(from: Self.grant(), at: bench.issuer, in: .uid(1)) }
    let read = store.listings
    let error = await #expect(throws: SessionError.self) {
      try await bench.sessions.onlySession(of: .user, at: "corp", in: .uid(1))
    }
    #expect(error?.detail.hasPrefix("There are at least 10 sessions at issuer corp: pass") == true)
    #expect(store.listings == read + 1)
  }

  @Test("one uid fills the store with few large sessions; those that end free their capacity, others have theirs")
  func bytes() async throws {
    let bench = try SessionBench(maxBytesPerUid: 100_000)
    let token = String(repeating: "x", count: 15_000)
    var made: [Session] = []
    var failure: SessionError?
    while made.count < 100, failure == nil {
      do throws(SessionError) {
        made.append(try await bench.sessions.create(from: Self.grant(token), at: bench.issuer, in: .uid(1)))
      } catch { failure = error }
    }
    #expect((3...6).contains(made.count))
    guard case .overloaded(nil)? = failure?.kind else {
      Issue.record("\(String(describing: failure))")
      return
    }
    #expect(failure?.detail == "the sessions of this peer have as many bytes as limits.sessionBytesPerUid allows")
    #expect(try await bench.store.usage(of: 1).bytes <= 100_000)
    // No grant is sent for a session without capacity.
    let large = try SessionBench(maxBytesPerUid: 10)
    await #expect(throws: SessionError.self) { try await large.session() }
    #expect(large.refreshes.isEmpty)
    _ = try await bench.sessions.create(from: Self.grant(token), at: bench.issuer, in: .uid(2))
    _ = try await bench.sessions.end(made[0].handle, at: nil, in: .uid(1))
    _ = try await bench.sessions.create(from: Self.grant(token), at: bench.issuer, in: .uid(1))
  }

  @Test("sessions that one uid makes at one moment hold more together than they may, whatever they are made from")
  func bytesAtOnce() async throws {
    let bench = try SessionBench(maxBytesPerUid: 100_000)
    let token = String(repeating: "x", count: 15_000)
    let given = await outcomes {
      try await bench.sessions.create(from: Self.grant(token), at: bench.issuer, in: .uid(1))
    }
    #expect((3...6).contains(given.made) && given.codes == ["overloaded"])
    #expect(try await bench.store.usage(of: 1).bytes <= 100_000)
    // All have their reservations before the first token comes.
    let gate = Gate()
    bench.gate.withLock { $0 = gate }
    let answer = #"{"access_token":"\#(token)","token_type":"Bearer","expires_in":300}"#
    bench.provider.withLock { $0.answers = Array(repeating: .json(answer), count: 40) }
    Task {
      _ = await eventually { gate.waiterCount == 40 }
      gate.open()
    }
    let outcome = await outcomes { try await bench.session(uid: 2) }
    #expect((3...6).contains(outcome.made) && outcome.codes == ["noCapacity"])
    #expect(try await bench.store.usage(of: 2).bytes <= 100_000)
    #expect(try await bench.store.usage(of: 2).count(in: .session) == outcome.made)
    // Tokens that are not stored are revoked.
    #expect(await eventually { bench.transport.requests(to: "https://idp.test/revoke").count == 40 - outcome.made })
  }

  /// How many of 40 sessions that are made at once there are, and why the others are not.
  private func outcomes(
    _ make: @escaping @Sendable () async throws -> Session
  ) async -> (made: Int, codes: Set<String>) {
    await withTaskGroup(of: String.self) { group in
      for _ in 0..<40 {
        group.addTask {
          do {
            _ = try await make()
            return ""
          } catch let error as SessionError {
            switch error.kind {
            case .overloaded: return "overloaded"
            case .noCapacity: return "noCapacity"
            default: return error.detail
            }
          } catch { return "\(error)" }
        }
      }
      var made = 0
      var codes: Set<String> = []
      for await code in group {
        if code.isEmpty { made += 1 } else { codes.insert(code) }
      }
      return (made, codes)
    }
  }
}
