import JOSE
import PosternJSON
import PosternSupport

/// `typ` is that of the expected kind of token (RFC 8725 section 3.11; RFC 9068 section 4 for access tokens).
struct TokenTypeRule: HeaderRule {
  let accepted: [String]
  let mayBeAbsent: Bool

  func outcome(for header: JOSEHeader, claims: JWTClaims) -> RuleOutcome {
    do throws(JOSEError) {
      try header.requireType(accepted, mayBeAbsent: mayBeAbsent)
      return .met
    } catch {
      return .failed(
        TokenFault(error, expected: .array(accepted.map { .string($0) }), actual: header.type.map { .string($0) }))
    }
  }
}

/// `token_type`, if present, is the type that the token is used as; names are compared without regard to case (RFC 7662
/// section 2.2, RFC 6749 section 5.1).
struct AccessTokenTypeRule: ClaimRule {
  let tokenType: String?

  func outcome(in context: RuleContext) -> RuleOutcome {
    guard let tokenType, let actual = context.claims.string("token_type") else { return .met }
    return .require(
      actual.hasSameASCIILetters(as: tokenType),
      TokenFault(
        .tokenTypeMismatch, "the token is of another type", claim: "token_type", expected: .string(tokenType),
        actual: .string(actual)))
  }
}

/// `cty` is not `JWT`: the payload has claims and is not another token (RFC 7519 section 5.2).
struct ContentTypeRule: HeaderRule {
  func outcome(for header: JOSEHeader, claims: JWTClaims) -> RuleOutcome {
    .require(
      !header.isNested,
      TokenFault(.wrongTokenType, "cty means that the payload is another token", claim: "cty", actual: "JWT"))
  }
}

/// Claims in the header of an encrypted token equal those inside (RFC 7519 section 5.3), since routing goes by the
/// header and validation by the claims.
struct ReplicatedClaimsRule: ClaimRule {
  /// The header of the encryption.
  let outer: JOSEHeader

  private static let replicated: [(name: String, code: TokenFault.Code)] = [
    ("iss", .issMismatch), ("sub", .subMismatch), ("aud", .audMismatch),
  ]

  func outcome(in context: RuleContext) -> RuleOutcome {
    for (name, code) in Self.replicated {
      guard let outside = outer.parameters[name] else { continue }
      // Compared as JSON texts, since canonically equivalent strings are different identifiers.
      guard let inside = context.claims.members[name], JSONWriter().write(outside) == JSONWriter().write(inside) else {
        return .failed(
          TokenFault(code, "\(name) in the header of the encrypted token is not the one in its claims", claim: name))
      }
    }
    return .met
  }
}
