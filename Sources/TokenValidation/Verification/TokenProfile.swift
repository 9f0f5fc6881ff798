import JOSE
import PosternSupport

/// One kind of token with everything that is asked of it in one call: what `TokenVerification` works through.
struct TokenProfile: Sendable {
  /// The allow-list, already narrowed.
  let algorithms: [SignatureAlgorithm]
  /// The key of the symmetric algorithms.
  let clientSecret: Secret<String>?
  let encryption: TokenEncryptionPolicy
  /// The `typ` that the header of an encrypted token may have, beside none.
  var outerTypes = ["JWT"]
  /// String members beside those that every JWT may have.
  var stringClaims: [String] = []
  let headerRules: [any HeaderRule]
  let claimRules: [any ClaimRule]
  let clockSkew: Duration
  /// The time to judge by; nil: now.
  let now: Timestamp?
  /// All of the above in bytes; nil where no verdict is to be kept.
  let fingerprint: PolicyFingerprint?
}
