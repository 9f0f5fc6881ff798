import JOSE
import PosternJSON
import PosternSupport

/// ID tokens (OpenID Connect Core section 2).
struct IDTokens: Sendable {
  /// The contents of a token in addition to the grant's.
  struct Context: Sendable {
    /// `nonce`: only in answers to the request that brought it; a refreshed token has none (section 12.2).
    var nonce: String?
    /// The access token issued with it, for `at_hash`.
    var accessToken: String?
    /// The code issued with it, for `c_hash`.
    var code: String?
  }

  let issuer: String
  let keys: SigningKeys
  let lifetime: Duration
  let faults: Faults
  let clock: any EngineClock
  let statistics: Statistics

  /// A token for `client` about the user of `grant`, with whatever fault is switched on for ID tokens.
  func issue(_ grant: UserGrant, to client: PlaygroundClient, _ context: Context) throws -> String {
    let algorithm = SigningKeys.algorithms.first { $0.name == client.idTokenAlgorithm } ?? .rs256
    let key = keys.key(for: algorithm)
    let now = clock.wallNow.secondsSinceEpoch
    let audiences = [client.id] + client.idTokenAudiences
    var claims: JSONObject = [
      "iss": .string(issuer),
      "sub": .string(grant.user.subject),
      "aud": audiences.count == 1 ? .string(client.id) : .array(audiences.map { .string($0) }),
      "iat": .integer(now),
      "exp": .integer(now + lifetime.wholeMilliseconds / 1000),
    ]
    for member in grant.authentication.claims.members { claims[member.name] = member.value }
    if audiences.count > 1 { claims["azp"] = .string(client.id) }
    claims["nonce"] = context.nonce.map { .string($0) }
    if let accessToken = context.accessToken {
      claims["at_hash"] = .string(try TokenHash.claim(for: accessToken, algorithm: algorithm, key: key))
    }
    if let code = context.code {
      claims["c_hash"] = .string(try TokenHash.claim(for: code, algorithm: algorithm, key: key))
    }
    statistics.count(\.idTokensIssued)
    let fault = faults.strikeAtOnce(.idToken)
    fault?.spoil(&claims)
    let token = try keys.sign(claims, type: "JWT", algorithm: algorithm)
    return fault?.kind == .badSignature ? Self.withoutItsSignature(token) : token
  }

  /// The claims of an ID token of ours, which may have expired where that does no harm (RP-Initiated Logout section 2).
  func check(_ text: String, mayHaveExpired: Bool = false) -> JSONObject? {
    guard let claims = keys.verify(text, type: "JWT"), claims["iss"]?.stringValue == issuer,
      let end = claims["exp"]?.integerValue,
      mayHaveExpired || clock.wallNow < Timestamp(secondsSinceEpoch: end)
    else { return nil }
    return claims
  }

  /// The token with a signature of the right length that no key made.
  private static func withoutItsSignature(_ token: String) -> String {
    let end = token.lastIndex(of: ".") ?? token.startIndex
    let signature = token[token.index(after: end)...].map { $0 == "A" ? "B" : "A" as Character }
    return String(token[...end]) + String(signature)
  }
}
