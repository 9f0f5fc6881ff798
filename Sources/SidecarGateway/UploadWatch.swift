import PosternSupport

/// Notices when a resource server stalls while a program's body is sent to it. Such a request has no time limit as a
/// whole: how long it takes is up to the program, which the listener watches.
final class UploadWatch: Sendable {
  private enum State {
    /// The body is not sent while it is read, as far as that is known.
    case unused(CheckedContinuation<Void, Never>?)
    /// The program's bytes are awaited.
    case idle
    /// The server has something to do since then.
    case sending(since: MonotonicInstant, patience: Duration)
    /// The response has begun.
    case over

    mutating func takeWaiter() -> CheckedContinuation<Void, Never>? {
      guard case .unused(let waiter) = self else { return nil }
      self = .unused(nil)
      return waiter
    }
  }

  /// How often a watch that has nothing to count looks again.
  private static let interval = Duration.seconds(1)

  private let state = Locked(State.unused(nil))
  private let clock: any EngineClock

  init(clock: any EngineClock) { self.clock = clock }

  /// The server has `patience` from now on.
  func serverActs(within patience: Duration) { change(to: .sending(since: clock.monotonicNow, patience: patience)) }

  /// The program's next bytes are awaited.
  func programActs() { change(to: .idle) }

  /// The response has begun: it has limits of its own.
  func end() { change(to: .over) }

  private func change(to next: State) {
    let waiter = state.withLock { state -> CheckedContinuation<Void, Never>? in
      if case .over = state { return nil }
      let waiter = state.takeWaiter()
      state = next
      return waiter
    }
    waiter?.resume()
  }

  /// Returns true when the server has stalled; false when the response has begun, or the task is cancelled.
  func hasStalled() async -> Bool {
    await waitForUse()
    while !Task.isCancelled {
      let wait: Duration
      switch state.withLock({ $0 }) {
      case .over, .unused: return false
      case .idle: wait = Self.interval
      case .sending(let since, let patience):
        wait = patience - (clock.monotonicNow - since)
        if wait <= .zero { return true }
      }
      do { try await clock.sleep(for: wait) } catch { return false }
    }
    return false
  }

  /// Returns when there is something to watch, or the calling task is cancelled.
  private func waitForUse() async {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let mustWait = state.withLock { state in
          guard case .unused = state, !Task.isCancelled else { return false }
          state = .unused(continuation)
          return true
        }
        if !mustWait { continuation.resume() }
      }
    } onCancel: {
      state.withLock { $0.takeWaiter() }?.resume()
    }
  }
}
