import PosternSupport

/// The nonces one server hands out for proofs (RFC 9449 section 8): a new one each minute, the one before still taken.
final class DPoPNonces: Sendable {
  private struct State {
    var current = RandomText.next()
    var previous: String?
    var since: MonotonicInstant
  }

  private static let period = Duration.seconds(60)

  private let clock: any EngineClock
  private let state: Locked<State>

  /// Nonces that change with `clock`.
  init(clock: any EngineClock) {
    self.clock = clock
    state = Locked(State(since: clock.monotonicNow))
  }

  /// The nonce to use now.
  var current: String { refreshed { $0.current } }

  /// Whether `nonce` is one to accept.
  func accepts(_ nonce: String) -> Bool { refreshed { $0.current == nonce || $0.previous == nonce } }

  /// Makes a new nonce and forgets the others at once.
  func replace() {
    let now = clock.monotonicNow
    state.withLock { $0 = State(since: now) }
  }

  private func refreshed<Result>(_ body: (State) -> Result) -> Result {
    let now = clock.monotonicNow
    return state.withLock { state in
      let age = now - state.since
      if age >= Self.period {
        state = State(previous: age < Self.period * 2 ? state.current : nil, since: now)
      }
      return body(state)
    }
  }
}
