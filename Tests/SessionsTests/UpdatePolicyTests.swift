import AuthEngine
import EngineTestSupport
import PosternSupport
import PosternTestSupport
import Testing

@testable import SessionRecords
@testable import Sessions

/// Updates of a session whose record has changed or is gone, or whose store fails.
@Suite struct UpdatePolicyTests {
  /// A session at a store that a test can make fail, and a second process on it.
  private struct Bench {
    let store = TroubledStore()
    let first: SessionBench
    let second: SessionBench
    let session: Session

    init() async throws {
      first = try SessionBench(store: store)
      second = try SessionBench(store: store, alongside: first)
      session = try await first.session()
    }

    var repository: SessionRepository { first.sessions.repository }
    var others: SessionRepository { second.sessions.repository }

    func read(_ repository: SessionRepository) async throws -> LiveSession {
      try #require(try await repository.read(session.handle, in: .uid(1)))
    }

    /// Another process writes first.
    func overtake(_ change: (inout SessionContents) -> Void) async throws {
      try await others.update(try await read(others).record, by: .ifUnchanged, nil, in: .uid(1), change)
    }

    /// Runs `update` while the store takes no writes, until it has given up.
    func withoutStore(_ update: @escaping @Sendable () async throws -> Void) async throws -> Bool {
      store.failReplacements(4)
      let updating = Task { try await update() }
      for _ in 0..<3 {
        #expect(await eventually { first.clock.sleeperCount == 1 })
        first.clock.advance(by: .seconds(1))
      }
      await #expect(throws: SessionError.self) { try await updating.value }
      return repository.unsaved(session.handle) != nil
    }

    func isGone(_ policy: UpdatePolicy) async throws -> SessionError.Kind? {
      let base = try await read(repository).record
      _ = try await second.sessions.end(session.handle, at: nil, in: .uid(1))
      do throws(SessionError) {
        try await repository.update(base, by: policy, in: .uid(1)) { $0.grant.refreshToken = "late" }
        return nil
      } catch { return error.kind }
    }
  }

  @Test("a refresh's outcome gives way to a mere rejection of the old token, or is lost with it")
  func refreshOverRejection() async throws {
    let bench = try await Bench()
    let base = try await bench.read(bench.repository)
    try await bench.overtake { contents in
      contents.grant.isRejected = true
      contents.grant.refreshToken = nil
    }
    let written = try await bench.repository.update(base.record, by: .refreshOutcome(under: nil), in: .uid(1)) {
      contents in
      contents.grant.refreshToken = "r-9"
    }
    #expect(written.version == 4 && written.contents.grant.refreshToken == "r-9" && !written.contents.grant.isRejected)
  }

  @Test(
    "a refresh's outcome overwrites a newer token or a newer login",
    arguments: [["refresh": "r-8"], ["sso": "newer"]])
  func refreshSuperseded(_ theirs: [String: String]) async throws {
    let bench = try await Bench()
    let base = try await bench.read(bench.repository)
    try await bench.overtake { contents in
      contents.grant.refreshToken = theirs["refresh"] ?? contents.grant.refreshToken
      contents.signOn.token = theirs["sso"]
    }
    let current = try await bench.repository.update(base.record, by: .refreshOutcome(under: nil), in: .uid(1)) {
      contents in
      contents.grant.refreshToken = "r-9"
    }
    #expect(current.version == 3 && current.contents.grant.refreshToken != "r-9")
  }

  @Test("a refresh whose lease went to another process loses the issuer's new refresh token")
  func refreshWithoutLease() async throws {
    let bench = try await Bench()
    let base = try await bench.read(bench.repository)
    let other = RecordLease(key: SessionHandle.random().key, fence: 1, token: [])
    let written = try await bench.repository.update(base.record, by: .refreshOutcome(under: other), in: .uid(1)) {
      contents in
      contents.grant.refreshToken = "r-9"
    }
    #expect(written.contents.grant.refreshToken == "r-9")
  }

  @Test("a refresh's outcome is not kept while the store is unavailable, or the cached session is used on")
  func refreshWithoutStore() async throws {
    let bench = try await Bench()
    let base = try await bench.read(bench.repository)
    let repository = bench.repository
    let isKept = try await bench.withoutStore {
      try await repository.update(base.record, by: .refreshOutcome(under: nil), in: .uid(1)) {
        $0.grant.refreshToken = "r-9"
      }
    }
    #expect(isKept && repository.cache.withLock { $0.sessions[base.handle.key] } == nil)
    await repository.writeUnsaved()
    #expect(try await bench.read(bench.others).contents.grant.refreshToken == "r-9")
  }

  @Test("a step-up is lost when another process writes first, or undoes what that has written")
  func reapplied() async throws {
    let bench = try await Bench()
    let base = try await bench.read(bench.repository)
    try await bench.overtake { $0.grant.scope = "theirs" }
    let written = try await bench.repository.update(base.record, by: .reapply, in: .uid(1)) {
      $0.signOn.token = "newer"
    }
    #expect(written.version == 4 && written.contents.signOn.token == "newer")
    #expect(written.contents.grant.scope == "theirs")
  }

  @Test("a step-up is not kept while the store is unavailable, or the cached session is lost with it")
  func reappliedWithoutStore() async throws {
    let bench = try await Bench()
    let base = try await bench.read(bench.repository)
    let repository = bench.repository
    let isKept = try await bench.withoutStore {
      try await repository.update(base.record, by: .reapply, in: .uid(1)) { $0.signOn.token = "newer" }
    }
    #expect(isKept && repository.cache.withLock { $0.sessions[base.handle.key] } != nil)
    let written = try await repository.update(base.record, by: .reapply, in: .uid(1)) { $0.grant.scope = "later" }
    #expect(written.contents.signOn.token == "newer" && written.contents.grant.scope == "later")
  }

  @Test("tokens that have not been revoked are removed from a session that has changed")
  func ifUnchanged() async throws {
    let bench = try await Bench()
    let base = try await bench.read(bench.repository)
    try await bench.overtake { $0.grant.refreshToken = "theirs" }
    let error = await #expect(throws: SessionError.self) {
      try await bench.repository.update(base.record, by: .ifUnchanged, in: .uid(1)) { $0.grant.refreshToken = nil }
    }
    #expect(error?.isConflict == true)
    #expect(try await bench.read(bench.repository).contents.grant.refreshToken == "theirs")
  }

  @Test("tokens whose removal could not be stored are removed later, after the caller got the error")
  func ifUnchangedWithoutStore() async throws {
    let bench = try await Bench()
    let base = try await bench.read(bench.repository)
    let repository = bench.repository
    let isKept = try await bench.withoutStore {
      try await repository.update(base.record, by: .ifUnchanged, in: .uid(1)) { $0.grant.refreshToken = nil }
    }
    #expect(!isKept)
  }

  private static let room = SessionRoom(issuer: "corp", LoginOrigin())

  @Test("a new session that is larger than the allowance is kept, or overwrites a record that is not its reservation")
  func fillReservation() async throws {
    let bench = try await Bench()
    let repository = bench.repository
    let handle = SessionHandle.random()
    let contents = SessionContents(handle, at: bench.first.issuer, kind: .user, createdAt: bench.first.clock.wallNow)
    let reservation = try await repository.reserve(contents, of: handle, Self.room, in: .uid(1))
    let nothing = RecordAllowance(count: .max, bytes: 1)
    let tooLarge = await #expect(throws: SessionError.self) {
      try await repository.update(reservation, by: .fillReservation(within: nothing), in: .uid(1)) { contents in
        contents.isReserved = false
        contents.grant.refreshToken = String(repeating: "r", count: 4096)
      }
    }
    guard case .overloaded? = tooLarge?.kind else {
      Issue.record("\(String(describing: tooLarge))")
      return
    }
    #expect(repository.unsaved(handle) == nil)
    #expect(try await repository.fill(reservation, with: contents, Self.room, in: .uid(1)).version == 2)
    let twice = await #expect(throws: SessionError.self) {
      try await repository.fill(reservation, with: contents, Self.room, in: .uid(1))
    }
    #expect(twice?.isConflict == true)
  }

  @Test("a new session is lost when the store is unavailable after its grant was used")
  func fillWithoutStore() async throws {
    let bench = try await Bench()
    let repository = bench.repository
    let handle = SessionHandle.random()
    let contents = SessionContents(handle, at: bench.first.issuer, kind: .user, createdAt: bench.first.clock.wallNow)
    let reservation = try await repository.reserve(contents, of: handle, Self.room, in: .uid(1))
    _ = try await bench.withoutStore {
      _ = try await repository.fill(reservation, with: contents, Self.room, in: .uid(1))
    }
    #expect(try await repository.read(handle, in: .uid(1))?.version == 2)
    #expect(repository.unsaved(handle) == nil)
  }

  @Test(
    "an update brings a session back that has ended",
    arguments: [UpdatePolicy.refreshOutcome(under: nil), .reapply, .ifUnchanged])
  func gone(_ policy: UpdatePolicy) async throws {
    let bench = try await Bench()
    let kind = try await bench.isGone(policy)
    switch (policy, kind) {
    case (.ifUnchanged, .store(let error)?): #expect(error.kind == .conflict)
    case (.refreshOutcome, .notFound?), (.reapply, .notFound?): break
    default: Issue.record("\(String(describing: kind))")
    }
    #expect(try await bench.others.read(bench.session.handle, in: .uid(1)) == nil)
  }
}
