import OAuthClient
import PosternSupport
import Sessions

/// The parameters of one call.
struct JourneyWalk: Sendable {
  let issuer: SessionIssuer
  let answers: JourneyAnswers
  let deadline: Deadline
  let trace: TraceContext?
}

/// The outcome of a request to the access manager.
enum JourneyProgress: Sendable {
  /// The user has to answer.
  case waiting(JourneyState)
  /// No answer is needed any more.
  case over(JourneyOutcome)
}
