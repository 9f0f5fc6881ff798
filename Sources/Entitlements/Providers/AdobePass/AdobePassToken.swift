import HTTPMessages
import OAuthClient
import PosternJSON
import PosternSupport

/// An access token of a registered client.
struct AdobePassToken: Sendable {
  /// Less than this is not believed of a new token: a wrong clock must not lead to a token for each question. A 401
  /// tells soon enough.
  private static let shortestLife = Duration.seconds(60)

  let value: Secret<String>
  /// Whose it is.
  let clientID: String
  /// Counts upwards.
  let generation: UInt64
  /// From when on it is no longer used.
  let renewal: MonotonicInstant

  /// How long the token of `answer` lives from now on: `expires_in` seconds from `created_at` in milliseconds, by the
  /// server's own clock where it tells, because an answer may hold a token of before.
  static func life(of answer: TokenResponse, in response: HTTPResponse, at now: Timestamp) -> Duration {
    let document = try? DecisionReply.parser.parse(response.body)
    guard let given = document?["created_at"]?.integerValue, (1...253_402_300_799_999).contains(given) else {
      return answer.lifetime
    }
    // What cannot be milliseconds is seconds.
    let created = Timestamp(millisecondsSinceEpoch: given < 100_000_000_000 ? given * 1000 : given)
    let serverNow = response.fields["Date"].flatMap(HTTPDate.parse) ?? now
    let left = answer.lifetime - max(.zero, serverNow - created)
    return min(answer.lifetime, max(left, shortestLife))
  }
}
