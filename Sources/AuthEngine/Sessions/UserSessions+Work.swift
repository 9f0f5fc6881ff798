import Support

extension UserSessions {
  /// How many logins, ends and revocations of one owner may be under way, whoever still waits for them.
  static let maxWorks = 256
  /// When to ask again after one too many.
  private static let workPause = Duration.seconds(1)

  /// Runs `body` to its end, whoever still waits: what the issuer gives may not be had again. The caller leaves at its
  /// deadline, or when it is cancelled.
  func finish<Value: Sendable>(
    for owner: UInt32, by deadline: Deadline, _ body: @escaping @Sendable () async throws(SessionError) -> Value
  ) async throws(SessionError) -> Value {
    let flight = SingleFlight<UInt32, Value, SessionError>(clock: clock)
    do throws(SingleFlightError<SessionError>) {
      return try await flight.value(for: owner, deadline: deadline) { [self] () async throws(SessionError) in
        try beginWork(for: owner)
        defer { endWork(for: owner) }
        return try await body()
      }
    } catch {
      throw SessionError(error)
    }
  }

  private func beginWork(for owner: UInt32) throws(SessionError) {
    let isRoom = state.withLock { state in
      let count = state.works[owner, default: 0]
      guard count < Self.maxWorks else { return false }
      state.works[owner] = count + 1
      return true
    }
    guard isRoom else {
      throw SessionError(
        .overloaded(retryAfter: Self.workPause), "too many logins and logouts of this peer are under way")
    }
  }

  private func endWork(for owner: UInt32) {
    state.withLock { state in
      let count = state.works[owner, default: 1] - 1
      state.works[owner] = count > 0 ? count : nil
    }
  }
}
