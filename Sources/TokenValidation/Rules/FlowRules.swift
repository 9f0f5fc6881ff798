import JOSE
import PosternJSON
import PosternSupport

/// `nonce` is the one that was sent, and is present whenever one was sent or the token came through the browser (OpenID
/// Connect Core sections 3.1.3.7 rule 11, 3.2.2.11, 3.3.2.12). Where none was sent, one in the token is ignored unless
/// that is a violation.
struct NonceRule: ClaimRule {
  let nonce: String?
  let isRequired: Bool
  var rejectsUnexpected = false

  func outcome(in context: RuleContext) -> RuleOutcome {
    guard nonce != nil || isRequired else {
      return .require(
        !rejectsUnexpected || context.claims.string("nonce") == nil,
        TokenFault(.nonceMismatch, "the token has a nonce, and the request had none", claim: "nonce"))
    }
    guard let actual = context.claims.string("nonce") else {
      return .failed(TokenFault(.missingNonce, "nonce is missing", claim: "nonce"))
    }
    // The values are not in the fault: a reader of the log must not learn the nonce of a pending request.
    return .require(
      nonce.map { $0.isIdentical(to: actual) } ?? false,
      TokenFault(
        .nonceMismatch,
        nonce == nil ? "this flow needs the nonce of the request to compare with" : "nonce is another one",
        claim: "nonce"))
  }
}

/// A hash claim is the hash of its value, by the hash function of the token's algorithm.
struct TokenHashRule: ClaimRule {
  let claim: String
  let code: TokenFault.Code
  /// The caller's value; nil when there is nothing to compare with.
  let value: Secret<String>?
  let isRequired: Bool

  /// `at_hash` (OpenID Connect Core sections 3.1.3.8, 3.2.2.9, 3.3.2.9).
  static func accessToken(_ value: Secret<String>?, isRequired: Bool) -> TokenHashRule {
    TokenHashRule(claim: "at_hash", code: .atHashMismatch, value: value, isRequired: isRequired)
  }

  /// `c_hash` (OpenID Connect Core sections 3.3.2.10 and 3.3.2.11).
  static func authorizationCode(_ value: Secret<String>?, isRequired: Bool) -> TokenHashRule {
    TokenHashRule(claim: "c_hash", code: .cHashMismatch, value: value, isRequired: isRequired)
  }

  /// `s_hash` (FAPI 1.0 Advanced section 5.1.1), compared where it is present.
  static func state(_ value: String?) -> TokenHashRule {
    TokenHashRule(claim: "s_hash", code: .sHashMismatch, value: value.map { Secret($0) }, isRequired: false)
  }

  func outcome(in context: RuleContext) -> RuleOutcome {
    guard let actual = context.claims.string(claim) else { return .absent(claim, unless: !isRequired) }
    guard let value else { return .met }
    guard let signer = context.signer,
      let matches = try? TokenHash.matches(
        actual, value: value.reveal(), algorithm: signer.algorithm, key: signer.key)
    else { return .failed(TokenFault(code, "the hash of this algorithm is not known", claim: claim)) }
    return .require(matches, TokenFault(code, "\(claim) is not the hash of what it stands for", claim: claim))
  }
}

/// The ID tokens of one hybrid authorization have the same issuer and subject (OpenID Connect Core section 3.3.3.6).
struct SiblingTokenRule: ClaimRule {
  /// The claims of the other token; nil when it cannot be read.
  let other: JWTClaims?

  func outcome(in context: RuleContext) -> RuleOutcome {
    for name in ["iss", "sub"] {
      guard let mine = context.claims.string(name), let its = other?.string(name), mine.isIdentical(to: its) else {
        return .failed(
          TokenFault(.subMismatch, "the two ID tokens of the authorization differ in \(name)", claim: name))
      }
    }
    return .met
  }
}

/// The ID token of a refresh matches the previous one: same issuer, subject and authorized party, the original
/// audiences, the same authentication, no other nonce, and not older (OpenID Connect Core section 12.2).
struct RefreshRule: ClaimRule {
  /// The claims of the previous token; nil when it cannot be read.
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

/// The token is not a logout token. Those may have no `typ`, so that only the event shows it (Back-Channel Logout 1.0
/// section 2.4, RFC 8725 section 3.12).
struct NotALogoutTokenRule: HeaderRule {
  func outcome(for header: JOSEHeader, claims: JWTClaims) -> RuleOutcome {
    .require(
      claims.members["events"]?[LogoutEventRule.memberName] == nil,
      TokenFault(.wrongTokenType, "the token is a logout token", claim: "events"))
  }
}
