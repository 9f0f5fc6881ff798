extension JOSEError.Code {
  /// Larger than the limit; nothing of it was looked at.
  public static let tokenTooLarge = JOSEError.Code(rawValue: "token_too_large")
  /// Not a compact serialization, not strict base64url, or not the JSON it should hold.
  public static let malformedToken = JOSEError.Code(rawValue: "malformed_token")
  /// Two members of one name, escapes resolved.
  public static let duplicateClaim = JOSEError.Code(rawValue: "duplicate_claim")
  /// A claim of the wrong JSON type.
  public static let invalidClaimType = JOSEError.Code(rawValue: "invalid_claim_type")
  /// The algorithm is not in the allow-list, or is `none`.
  public static let algNotAllowed = JOSEError.Code(rawValue: "alg_not_allowed")
  /// A registered algorithm or key type this build cannot do.
  public static let algNotSupported = JOSEError.Code(rawValue: "alg_not_supported")
  /// The key is of another type, curve or `alg` than the header's algorithm.
  public static let keyAlgMismatch = JOSEError.Code(rawValue: "key_alg_mismatch")
  /// The key is too small for the algorithm.
  public static let weakKey = JOSEError.Code(rawValue: "weak_key")
  /// The key is malformed: a point off the curve, a coordinate of the wrong length, private members where none may be.
  public static let invalidKey = JOSEError.Code(rawValue: "invalid_key")
  /// The signature is not one of this key over this token.
  public static let badSignature = JOSEError.Code(rawValue: "bad_signature")
  /// `crit` is malformed or names an extension that is not understood; also `b64`.
  public static let unsupportedCrit = JOSEError.Code(rawValue: "unsupported_crit")
  /// A header parameter that must not be there.
  public static let forbiddenHeader = JOSEError.Code(rawValue: "forbidden_header")
  /// `typ` or `cty` is that of another kind of token.
  public static let wrongTokenType = JOSEError.Code(rawValue: "wrong_token_type")
  /// No key of the set has the `kid`, or none fits a header without one.
  public static let keyNotFound = JOSEError.Code(rawValue: "key_not_found")
  /// More than one key fits.
  public static let keyAmbiguous = JOSEError.Code(rawValue: "key_ambiguous")
  /// The key set as a whole is unusable.
  public static let jwksInvalid = JOSEError.Code(rawValue: "jwks_invalid")
  /// A JWE did not decrypt; deliberately without the reason.
  public static let decryptionFailed = JOSEError.Code(rawValue: "decryption_failed")
  /// A plain JWS where a JWE must be.
  public static let encryptionRequired = JOSEError.Code(rawValue: "encryption_required")
  /// A JWE where a plain JWS must be.
  public static let unexpectedEncryption = JOSEError.Code(rawValue: "unexpected_encryption")
  /// Signing or encrypting failed for a reason of the machine.
  public static let operationFailed = JOSEError.Code(rawValue: "operation_failed")
}
