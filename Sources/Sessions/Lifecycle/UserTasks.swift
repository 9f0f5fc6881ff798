package import PosternSupport
import SessionRecords

/// Runs what must be completed although its caller leaves, in bounded numbers for each uid.
package final class UserTasks: Sendable {
  /// How many logins, and how many ends and revocations, one uid may have running, whether or not a caller still waits
  /// for them.
  private static let maxTasks = 256
  /// How many logins there may be with the revocations in the background. Twice as many, so that each that could begin
  /// may end.
  private static let maxTasksWithRevocations = 2 * maxTasks
  /// The `retryAfter` of one too many.
  private static let retryAfter = Duration.seconds(1)

  private let store: any RecordStore
  private let clock: any EngineClock
  private let observer: (any SessionObserver)?
  /// Logins, with the revocations that they cause, and the ends that callers request are counted apart.
  private struct Kind: Hashable {
    let uid: UInt32
    let isLogin: Bool
  }

  private let counts = Locked<[Kind: Int]>([:])

  init(store: any RecordStore, clock: any EngineClock, observer: (any SessionObserver)?) {
    self.store = store
    self.clock = clock
    self.observer = observer
  }

  /// Whether nothing is running.
  var isIdle: Bool { counts.withLock { $0.isEmpty } }

  /// Runs `body` to its end, although its caller may leave at its deadline or be cancelled: what the issuer returns may
  /// not be returned again. With `isWritten` this process keeps the store until then.
  package func finish<Value: Sendable>(
    for uid: UInt32, by deadline: Deadline, isLogin: Bool = true, isWritten: Bool = true,
    _ body: @escaping @Sendable () async throws(SessionError) -> Value
  ) async throws(SessionError) -> Value {
    let flight = SingleFlight<UInt32, Value, SessionError>(clock: clock, failure: SessionError.init(endOf:))
    return try await flight.value(for: uid, deadline: deadline) { [self] () async throws(SessionError) in
      let kind = Kind(uid: uid, isLogin: isLogin)
      guard begin(kind, atMost: Self.maxTasks) else {
        throw SessionError(
          .overloaded(retryAfter: Self.retryAfter), "too many logins and logouts of this peer are under way")
      }
      defer { end(kind) }
      guard isWritten else { return try await body() }
      return try await store.whileRetained(SessionError.init, body)
    }
  }

  /// Runs a revocation in the background. It counts as the uid's, and is left out when there are too many: an endpoint
  /// that never answers would accumulate them.
  func revoke(for uid: UInt32, _ body: @escaping @Sendable () async -> Void) {
    let kind = Kind(uid: uid, isLogin: true)
    guard begin(kind, atMost: Self.maxTasksWithRevocations) else {
      observer?.observe(.troubled("tokens are not revoked", detail: "too many revocations of this peer are under way"))
      return
    }
    CurrentPeer.task { [self] in
      defer { end(kind) }
      await body()
    }
  }

  private func begin(_ kind: Kind, atMost most: Int) -> Bool {
    counts.withLock { $0.countUp(kind, below: most) }
  }

  private func end(_ kind: Kind) { counts.withLock { $0.countDown(kind) } }
}
