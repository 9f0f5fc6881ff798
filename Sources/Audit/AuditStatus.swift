import Support

/// How the log is, as its writer last said.
final class AuditStatus: Sendable {
  private let state = Locked(AuditLog.Condition())

  /// The last word.
  var condition: AuditLog.Condition { state.withLock { $0 } }

  func set(failure: String?, missing: UInt64, _ chain: AuditChain) {
    state.withLock { state in
      // What is noted down in the chain is not there for all that.
      if missing > state.missing { state.missingTotal += missing - state.missing }
      state.missing = missing
      state.failure = failure
      state.sequence = chain.sequence
    }
  }
}
