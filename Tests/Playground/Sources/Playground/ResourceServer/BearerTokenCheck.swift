import NIOHTTP1

/// How a server judges a request's token: signature, type, issuer, lifetime, revocation, audience, scope, and the key
/// it is bound to.
struct BearerTokenCheck: Sendable {
  /// A token that came with a request.
  struct Presented: Sendable {
    /// The token's text.
    let text: String
    /// The token's contents.
    let token: AccessToken
  }

  let tokens: AccessTokens
  /// The identifiers under which this server is meant by a token's `aud`; nil: it does not matter.
  let audiences: Set<String>?
  /// How proofs are judged here.
  let dpop: DPoPCheck

  /// The token of `request`, when it is good here and has `scope`.
  func token(of request: Request, scope: String?) throws(BearerChallenge) -> Presented {
    let fields = request.headers["authorization"]
    guard fields.count <= 1 else {
      throw BearerChallenge(code: .invalidRequest, description: "several Authorization fields")
    }
    guard let parts = fields.first?.split(separator: " ", maxSplits: 1),
      let scheme = parts.first.flatMap({ BearerChallenge.Scheme(rawValue: $0.lowercased()) })
    else { throw BearerChallenge(code: nil, scope: scope) }
    guard parts.count == 2 else {
      throw BearerChallenge(code: .invalidRequest, scheme: scheme, description: "the scheme has no token")
    }
    let presented = Presented(
      text: String(parts[1]), token: try token(String(parts[1]), scope: scope, scheme: scheme))
    try checkBinding(of: presented, scheme, request)
    return presented
  }

  /// The claims of a token that is valid here, for any client that presents it.
  func token(_ text: String, scope: String?, scheme: BearerChallenge.Scheme) throws(BearerChallenge) -> AccessToken {
    let token: AccessToken
    do throws(AccessTokens.Rejection) {
      token = try tokens.check(text)
    } catch {
      throw BearerChallenge(code: .invalidToken, scheme: scheme, description: error.rawValue)
    }
    guard audiences.map({ !$0.isDisjoint(with: token.audience) }) ?? true else {
      throw BearerChallenge(
        code: .invalidToken, scheme: scheme, description: "the token is meant for another audience")
    }
    if let scope, !token.scopes.contains(scope) {
      throw BearerChallenge(
        code: .insufficientScope, scheme: scheme, description: "the token lacks a scope", scope: scope)
    }
    return token
  }

  /// RFC 9449 section 7: a bound token needs the scheme DPoP and a proof by its key, and no other token may use that
  /// scheme.
  private func checkBinding(
    of presented: Presented, _ scheme: BearerChallenge.Scheme, _ request: Request
  ) throws(BearerChallenge) {
    guard let key = presented.token.confirmation else {
      guard scheme == .bearer else {
        throw BearerChallenge(code: .invalidToken, scheme: .dpop, description: "the token is not bound to a key")
      }
      return
    }
    guard scheme == .dpop else {
      throw BearerChallenge(
        code: .invalidToken, scheme: .bearer, description: "the token is bound to a key", offersDPoP: true)
    }
    let thumbprint: String?
    do throws(DPoPCheck.Problem) {
      thumbprint = try dpop.thumbprint(of: request, accessToken: presented.text)
    } catch {
      throw BearerChallenge(
        code: error.nonce == nil ? .invalidDPoPProof : .useDPoPNonce, scheme: .dpop, description: error.description,
        nonce: error.nonce)
    }
    guard let thumbprint else {
      throw BearerChallenge(code: .invalidDPoPProof, scheme: .dpop, description: "the proof is missing")
    }
    guard thumbprint == key else {
      throw BearerChallenge(code: .invalidToken, scheme: .dpop, description: "the token is bound to another key")
    }
  }
}
