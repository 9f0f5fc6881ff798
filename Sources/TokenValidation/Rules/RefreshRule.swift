import JOSE
import PosternSupport

/// The ID token of a refresh continues the one before it: same issuer, subject and authorized party, the original
/// audiences, the same authentication, no other nonce, and not older (OpenID Connect Core section 12.2).
struct RefreshRule: ClaimRule {
  /// The claims of the token before; nil when it cannot be read.
  let previous: JWTClaims?

  func outcome(in context: RuleContext) -> RuleOutcome {
    guard let previous else {
      return .failed(TokenFault(.refreshMismatch, "the previous ID token cannot be read"))
    }
    guard let claim = Self.difference(context.claims, from: previous) else { return .met }
    return .failed(
      TokenFault(.refreshMismatch, "\(claim) does not continue the previous ID token", claim: claim))
  }

  private static func difference(_ new: JWTClaims, from old: JWTClaims) -> String? {
    if let name = ["iss", "sub", "azp"].first(where: { !isSame(new.string($0), old.string($0)) }) { return name }
    let audiences = IdenticalStrings(new.audiences ?? [])
    guard (old.audiences ?? []).allSatisfy(audiences.contains) else { return "aud" }
    if let mine = new.authenticatedAt, let its = old.authenticatedAt, mine != its { return "auth_time" }
    guard new.string("nonce") == nil || isSame(new.string("nonce"), old.string("nonce")) else { return "nonce" }
    guard let mine = new.issuedAt, let its = old.issuedAt, mine >= its else { return "iat" }
    return nil
  }

  private static func isSame(_ left: String?, _ right: String?) -> Bool {
    switch (left, right) {
    case (let left?, let right?): left.isIdentical(to: right)
    case (nil, nil): true
    default: false
    }
  }
}
