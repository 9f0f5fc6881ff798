import JOSE

/// A token under a client secret has one audience: what is signed with one client's secret says nothing to another
/// (OpenID Connect Core section 3.1.3.7 rule 8).
struct SymmetricAudienceRule: HeaderRule {
  func outcome(for header: JOSEHeader, beside claims: JWTClaims) -> RuleOutcome {
    let isSymmetric = SignatureAlgorithm(name: header.algorithm)?.isSymmetric ?? false
    return .require(
      !isSymmetric || (claims.audiences?.count ?? 0) <= 1,
      TokenFault(.algNotAllowed, "a token with several audiences is signed with a shared secret", claim: "alg"))
  }
}
