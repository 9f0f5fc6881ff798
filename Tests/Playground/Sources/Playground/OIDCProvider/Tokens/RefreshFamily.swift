import PosternJSON
import PosternSupport

/// All refresh tokens of one grant, the living one and those before it, with what became of each.
struct RefreshFamily: Sendable {
  /// One refresh token. Its text is not kept: its number identifies it.
  struct Token: Sendable {
    /// 1 for the first of its family.
    let number: Int
    /// A short hash of its text.
    let fingerprint: String
    /// When it was issued.
    let issuedAt: Timestamp
    /// When it was replaced by the next one.
    var replacedAt: Timestamp?
    /// How many answers have named it.
    var answers = 0
    /// How many of them went out whole: with one of these the client cannot say that it never got the token.
    var answersWritten = 0
    /// How often it was presented, whatever came of it.
    var presented = 0
    /// When that was the last time.
    var lastPresentedAt: Timestamp?
  }

  /// The identifier, also within the tokens.
  let id: String
  /// The grant.
  var grant: UserGrant
  /// When it was begun.
  let openedAt: Timestamp
  /// The living token's number; 0 before the first one.
  var current = 0
  /// The end of the living token.
  var expiresAt: Timestamp
  /// Why all its tokens are void; nil while they are not.
  var revocation: String?
  /// Its tokens in order, the oldest left out when there are too many.
  var tokens: [Token] = []

  /// Changes what is known of the token `number`, if it is still known.
  mutating func note(_ number: Int, _ change: (inout Token) -> Void) {
    guard let last = tokens.last, number <= last.number else { return }
    let position = tokens.count - 1 - (last.number - number)
    if tokens.indices.contains(position) { change(&tokens[position]) }
  }

  /// The token `number`, if it is still known.
  func token(_ number: Int) -> Token? { tokens.first { $0.number == number } }

  /// The family as `GET /playground/families` shows it.
  var json: JSONValue {
    [
      "id": .string(id),
      "clientId": .string(grant.clientID),
      "user": .string(grant.user.name),
      "sid": .string(grant.authentication.sessionID),
      "scope": .string(grant.scopes.joined(separator: " ")),
      "revoked": revocation.map { .string($0) } ?? .null,
      "tokens": .array(tokens.map(\.json)),
    ]
  }
}

extension RefreshFamily.Token {
  fileprivate var json: JSONValue {
    [
      "number": .integer(Int64(number)),
      "token": .string(fingerprint),
      "issuedAtMs": .integer(issuedAt.millisecondsSinceEpoch),
      "replacedAtMs": replacedAt.map { .integer($0.millisecondsSinceEpoch) } ?? .null,
      "answers": .integer(Int64(answers)),
      "answersWritten": .integer(Int64(answersWritten)),
      "presented": .integer(Int64(presented)),
      "lastPresentedAtMs": lastPresentedAt.map { .integer($0.millisecondsSinceEpoch) } ?? .null,
    ]
  }
}
