import PosternSupport

/// How the log is, as its writer last said.
final class AuditStatus: Sendable {
  /// How long the disk may take for one thing.
  static let patience = Duration.seconds(5)

  private struct State {
    var condition = AuditLog.Condition()
    /// Since when the writer waits for the disk.
    var busySince: MonotonicInstant?
  }

  private let state = Locked(State())
  private let clock: any EngineClock

  init(clock: any EngineClock) { self.clock = clock }

  /// The last word; and that the writer has not come back from the disk, which says nothing then.
  var condition: AuditLog.Condition {
    let now = clock.monotonicNow
    return state.withLock { state in
      var condition = state.condition
      if let since = state.busySince, now - since >= Self.patience, condition.failure == nil {
        condition.failure = "the disk has not answered for \((now - since).wholeMilliseconds / 1000) s"
      }
      return condition
    }
  }

  /// The writer begins, or ends, what may take the disk's time.
  func isBusy(_ isBusy: Bool) {
    let now = clock.monotonicNow
    state.withLock { $0.busySince = isBusy ? now : nil }
  }

  func set(failure: String?, missing: UInt64, _ chain: AuditChain) {
    state.withLock { state in
      // What is noted down in the chain is not there for all that.
      if missing > state.condition.missing { state.condition.missingTotal += missing - state.condition.missing }
      state.condition.missing = missing
      state.condition.failure = failure
      state.condition.sequence = chain.sequence
    }
  }
}
