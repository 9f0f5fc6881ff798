import OAuthClient
import PosternSupport
import Sessions

/// What belongs to one call.
struct JourneyWalk: Sendable {
  let issuer: SessionIssuer
  let answers: JourneyAnswers
  let deadline: Deadline
  let trace: TraceContext?
}

/// What came of an exchange.
enum JourneyProgress: Sendable {
  /// The user is asked.
  case waiting(JourneyState)
  /// Nobody is asked any more.
  case over(JourneyOutcome)
}
