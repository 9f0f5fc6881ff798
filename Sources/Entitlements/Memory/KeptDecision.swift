import PosternSupport

/// A decision as it is remembered, or handed to those who wait for it.
struct KeptDecision: Sendable {
  /// Of a shorter life nothing is renewed before somebody needs it.
  private static let shortestLife = Duration.seconds(1)

  let verdict: DecisionVerdict
  /// When the decision point answered.
  let answeredAt: MonotonicInstant
  /// Until when it may be used; nil: it is not kept.
  let expiry: MonotonicInstant?
  /// The same by the wall clock.
  let expiresAt: Timestamp?
  /// From when on it is renewed as soon as somebody asks for it; nil: it is not, or not again.
  var renewal: MonotonicInstant?

  /// Whether it may still be used.
  func isFresh(at now: MonotonicInstant) -> Bool { expiry.map { $0 > now } ?? false }

  /// Whether to be asked for now has it renewed.
  func isHot(at now: MonotonicInstant) -> Bool { renewal.map { $0 <= now } ?? false }

  /// When the last fifth of a life of `life` begins; nil when that is not worth a question.
  static func renewal(ofLife life: Duration, from now: MonotonicInstant) -> MonotonicInstant? {
    life >= shortestLife ? now + (life - life / 5) : nil
  }
}
