package import OAuthClient
import PosternSupport
import SessionRecords

/// Runs what must be completed although its caller leaves, in bounded numbers for each uid. What one issuer has of these
/// is at most three times what it leaves free (`FairShare`), so that an issuer that does not answer keeps out no other.
package final class UserTasks: Sendable {
  /// What the tasks do. Each kind is counted apart.
  package enum Kind: Sendable, Hashable {
    /// Logins, and the revocations that they cause.
    case login
    /// Ends of sessions and revocations that callers request.
    case end
    /// Ends of sessions that their issuer has requested.
    case logout
    /// Revocations that no login causes and nobody waits for.
    case revocation
  }

  /// How many tasks of a kind one uid may have running, whether or not a caller still waits for them. One issuer may have
  /// 256, which leaves 85 to others.
  private static let maxTasks = 341
  /// How many logins there may be with the revocations in the background. Twice as many, so that each that could begin
  /// may end.
  private static let maxTasksWithRevocations = 2 * maxTasks
  /// The `retryAfter` of one too many.
  private static let retryAfter = Duration.seconds(1)

  private struct Tasks: Hashable {
    let uid: UInt32
    let kind: Kind
  }

  private struct Count {
    var all = 0
    var ofIssuers: [String?: Int] = [:]
  }

  private let store: any RecordStore
  private let clock: any EngineClock
  private let observer: (any SessionObserver)?
  private let counts = Locked<[Tasks: Count]>([:])

  init(store: any RecordStore, clock: any EngineClock, observer: (any SessionObserver)?) {
    self.store = store
    self.clock = clock
    self.observer = observer
  }

  /// Whether nothing is running.
  var isIdle: Bool { counts.withLock { $0.isEmpty } }

  /// Runs `body` to its end, although its caller may leave at its deadline or be cancelled: what the issuer returns may
  /// not be returned again. `issuer` is the configured name; nil if it is not known. With `isWritten` this process keeps
  /// the store until then. `body` gets the call without its deadline.
  package func finish<Value: Sendable>(
    _ kind: Kind, at issuer: String?, isWritten: Bool = true, in call: CallScope,
    _ body: @escaping @Sendable (CallScope) async throws(SessionError) -> Value
  ) async throws(SessionError) -> Value {
    try await untilItsEnd(in: call) { [self] call async throws(SessionError) in
      try await counted(kind, at: issuer, in: call) { () async throws(SessionError) in
        guard isWritten else { return try await body(call) }
        return try await store.whileRetained(SessionError.init) { () async throws(SessionError) in try await body(call)
        }
      }
    }
  }

  /// Runs `body` to its end, although its caller may leave, and counts nothing.
  func untilItsEnd<Value: Sendable>(
    in call: CallScope, _ body: @escaping @Sendable (CallScope) async throws(SessionError) -> Value
  ) async throws(SessionError) -> Value {
    let flight = SingleFlight<UInt32, Value, SessionError>(clock: clock, failure: SessionError.init(endOf:))
    return try await flight.value(for: call.uid, in: call, body)
  }

  /// Runs `body` as one of the uid's tasks; throws if there are too many.
  func counted<Value>(
    _ kind: Kind, at issuer: String?, in call: CallScope, _ body: () async throws(SessionError) -> Value
  ) async throws(SessionError) -> Value {
    let tasks = Tasks(uid: call.uid, kind: kind)
    guard begin(tasks, at: issuer) else {
      throw SessionError(
        .overloaded(retryAfter: Self.retryAfter), "too many logins and logouts of this peer are under way")
    }
    defer { end(tasks, at: issuer) }
    return try await body()
  }

  /// Runs a revocation in the background. It counts as the uid's, and is left out when there are too many: an endpoint
  /// that never answers would accumulate them. One `ofLogin` counts with the logins. `body` gets the call without its
  /// deadline.
  func revoke(
    for uid: UInt32, at issuer: String?, ofLogin isOfLogin: Bool = false, in call: CallScope,
    _ body: @escaping @Sendable (CallScope) async -> Void
  ) {
    let tasks = Tasks(uid: uid, kind: isOfLogin ? .login : .revocation)
    guard begin(tasks, at: issuer, isOfLogin: isOfLogin) else {
      observer?.observe(
        .troubled("tokens are not revoked", detail: "too many revocations of this peer are under way"), in: call)
      return
    }
    call.task { [self] in
      defer { end(tasks, at: issuer) }
      await body(call.unbounded)
    }
  }

  private func begin(_ tasks: Tasks, at issuer: String?, isOfLogin: Bool = false) -> Bool {
    counts.withLock { counts in
      var count = counts[tasks] ?? Count()
      let isAllowed =
        isOfLogin
        ? count.all < Self.maxTasksWithRevocations
        : FairShare.allows(count.ofIssuers[issuer] ?? 0, free: Self.maxTasks - count.all)
      guard isAllowed else { return false }
      count.all += 1
      count.ofIssuers[issuer, default: 0] += 1
      counts[tasks] = count
      return true
    }
  }

  private func end(_ tasks: Tasks, at issuer: String?) {
    counts.withLock { counts in
      guard var count = counts[tasks] else { return }
      count.all -= 1
      count.ofIssuers.countDown(issuer)
      counts[tasks] = count.all > 0 ? count : nil
    }
  }
}
