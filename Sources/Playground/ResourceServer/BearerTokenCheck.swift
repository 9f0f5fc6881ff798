import NIOHTTP1

/// How the resource server judges a request's token: signature, type, issuer, lifetime, revocation, audience, scope.
struct BearerTokenCheck: Sendable {
  let tokens: AccessTokens
  /// The identifiers under which this resource server is meant by a token's `aud`.
  let audiences: Set<String>

  /// The token of `request`, when it is good here and has `scope`.
  func token(of request: Request, scope: String?) throws(BearerChallenge) -> AccessToken {
    let fields = request.headers["authorization"]
    guard fields.count <= 1 else {
      throw BearerChallenge(code: .invalidRequest, description: "several Authorization fields")
    }
    guard let parts = fields.first?.split(separator: " ", maxSplits: 1), parts.first?.lowercased() == "bearer" else {
      throw BearerChallenge(code: nil, scope: scope)
    }
    guard parts.count == 2 else { throw BearerChallenge(code: .invalidRequest, description: "Bearer without a token") }
    let token: AccessToken
    do {
      token = try tokens.check(String(parts[1]))
    } catch {
      throw BearerChallenge(code: .invalidToken, description: error.rawValue)
    }
    guard !audiences.isDisjoint(with: token.audience) else {
      throw BearerChallenge(code: .invalidToken, description: "the token is meant for another audience")
    }
    if let scope, !token.scopes.contains(scope) {
      throw BearerChallenge(code: .insufficientScope, description: "the token lacks a scope", scope: scope)
    }
    return token
  }
}
