import JOSE
import PosternJSON

/// A token whose signature has been verified.
struct VerifiedToken: Sendable {
  let header: JOSEHeader
  /// The header of the encryption; nil where there was none.
  let outerHeader: JOSEHeader?
  let claims: JWTClaims
  let algorithm: SignatureAlgorithm
  let key: JWK

  /// The verdict once the claims have been judged too.
  func verdict(cached: Bool) -> TokenVerdict {
    .valid(
      claims: claims.members, header: header.parameters,
      key: TokenKey(kid: key.keyID, alg: algorithm.name, thumbprint: key.thumbprint), cached: cached)
  }
}
