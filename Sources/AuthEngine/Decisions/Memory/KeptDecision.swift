import Support

/// A decision as it is remembered, or handed to those who wait for it.
struct KeptDecision: Sendable {
  let verdict: DecisionVerdict
  /// When the decision point answered.
  let answeredAt: MonotonicInstant
  /// Until when it may be used; nil: it is not kept.
  let expiry: MonotonicInstant?
  /// The same by the wall clock.
  let expiresAt: Timestamp?
}
