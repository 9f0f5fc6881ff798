package import PosternSupport
import SessionRecords

extension UserSessions {
  /// How many logins, ends and revocations of one owner may be under way, whoever still waits for them.
  static let maxWorks = 256
  /// How many there may be with what is done behind their callers. Twice as many, so that the end of each that could
  /// begin has room.
  private static let maxWorksWithRevocations = 2 * maxWorks
  /// How long a revocation that nobody waits for may take: one owner's are bounded in number, so none may keep its
  /// place for long.
  static let revocationTimeout = Duration.seconds(10)
  /// When to ask again after one too many.
  private static let workPause = Duration.seconds(1)

  /// Runs `body` to its end, whoever still waits: what the issuer gives may not be had again. The caller leaves at its
  /// deadline, or when it is cancelled. With `isWritten` the store is there until then.
  package func finish<Value: Sendable>(
    for owner: UInt32, by deadline: Deadline, isWritten: Bool = true,
    _ body: @escaping @Sendable () async throws(SessionError) -> Value
  ) async throws(SessionError) -> Value {
    let flight = SingleFlight<UInt32, Value, SessionError>(clock: clock)
    do throws(SingleFlightError<SessionError>) {
      return try await flight.value(for: owner, deadline: deadline) { [self] () async throws(SessionError) in
        guard beginWork(for: owner, atMost: Self.maxWorks) else {
          throw SessionError(
            .overloaded(retryAfter: Self.workPause), "too many logins and logouts of this peer are under way")
        }
        defer { endWork(for: owner) }
        guard isWritten else { return try await body() }
        return try await store.whileHeld(SessionError.init, body)
      }
    } catch {
      throw SessionError(error)
    }
  }

  /// Runs `body`, a revocation that nobody waits for. It counts as the owner's, and is left out when there are too
  /// many: an endpoint that never answers would gather them.
  func revokeInBackground(_ owner: UInt32, _ body: @escaping @Sendable () async -> Void) {
    guard beginWork(for: owner, atMost: Self.maxWorksWithRevocations) else {
      observer?.observe(.troubled("tokens are not revoked", detail: "too many revocations of this peer are under way"))
      return
    }
    Requesting.task { [self] in
      defer { endWork(for: owner) }
      await body()
    }
  }

  /// Counts one more of the owner's; false when there are so many.
  private func beginWork(for owner: UInt32, atMost count: Int) -> Bool {
    state.withLock { state in
      let works = state.works[owner, default: 0]
      guard works < count else { return false }
      state.works[owner] = works + 1
      return true
    }
  }

  private func endWork(for owner: UInt32) {
    state.withLock { state in
      let count = state.works[owner, default: 1] - 1
      state.works[owner] = count > 0 ? count : nil
    }
  }
}
