import PosternSupport

/// Notices when a resource server stalls while a program's body is sent to it. Such a request has no time limit as a
/// whole: how long it takes is up to the program, which the listener watches.
final class UploadWatch: Sendable {
  private enum State {
    /// Nothing is sent yet, or the program's bytes are awaited.
    case idle
    /// The server has something to do since then.
    case sending(since: MonotonicInstant, patience: Duration)
    /// The response has begun.
    case over
  }

  /// How often a watch that has nothing to count looks again.
  private static let interval = Duration.seconds(1)

  private let state = Locked(State.idle)
  private let clock: any EngineClock

  init(clock: any EngineClock) { self.clock = clock }

  /// The server has `patience` from now on.
  func serverActs(within patience: Duration) {
    let now = clock.monotonicNow
    state.withLock { state in
      if case .over = state { return }
      state = .sending(since: now, patience: patience)
    }
  }

  /// The program's next bytes are awaited.
  func programActs() {
    state.withLock { state in
      if case .over = state { return }
      state = .idle
    }
  }

  /// The response has begun: it has limits of its own.
  func end() { state.withLock { $0 = .over } }

  /// Returns true when the server has stalled; false when the response has begun, or the task is cancelled.
  func hasStalled() async -> Bool {
    while !Task.isCancelled {
      let wait: Duration
      switch state.withLock({ $0 }) {
      case .over: return false
      case .idle: wait = Self.interval
      case .sending(let since, let patience):
        wait = patience - (clock.monotonicNow - since)
        if wait <= .zero { return true }
      }
      do { try await clock.sleep(for: wait) } catch { return false }
    }
    return false
  }
}
