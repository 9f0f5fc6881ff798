import JOSE
import PosternSupport

/// A hash claim is the hash of the value it stands for, by the hash of the token's own algorithm.
struct TokenHashRule: ClaimRule {
  let claim: String
  let code: TokenFault.Code
  /// What the caller holds; nil: nothing to compare with.
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
