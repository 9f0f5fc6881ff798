public import PosternSupport

/// The reason for which a token, a key or a key set is not accepted. More codes may be added; equality compares `code`
/// only.
public struct JOSEError: Error, Sendable {
  /// A stable symbol for the cause.
  public struct Code: Sendable, Hashable, RawRepresentable {
    /// The stable symbol.
    public let rawValue: String
    /// The code with the given symbol.
    public init(rawValue: String) { self.rawValue = rawValue }
  }

  /// The cause.
  public let code: Code
  /// For people and logs: never holds key material, signatures or claim values.
  public let message: String
  /// The name of the claim or header parameter at fault, where there is one.
  public let claim: String?

  /// An error of the given parts.
  public init(_ code: Code, _ message: String, claim: String? = nil) {
    self.code = code
    self.message = message
    self.claim = claim
  }
}

extension JOSEError: Equatable {
  /// Same code.
  public static func == (left: JOSEError, right: JOSEError) -> Bool { left.code == right.code }
}

extension JOSEError: ConciseStringConvertible {
  /// `code: message`.
  public var description: String { "\(code.rawValue): \(message)" }
}

extension JOSEError.Code {
  /// Larger than the limit; it was not decoded.
  public static let tokenTooLarge = JOSEError.Code(rawValue: "token_too_large")
  /// Not a compact serialization, not strict base64url, or not the JSON it should hold.
  public static let malformedToken = JOSEError.Code(rawValue: "malformed_token")
  /// Two members of one name, escapes resolved.
  public static let duplicateClaim = JOSEError.Code(rawValue: "duplicate_claim")
  /// A claim of the wrong JSON type.
  public static let invalidClaimType = JOSEError.Code(rawValue: "invalid_claim_type")
  /// The algorithm is not in the allow-list, or is `none`.
  public static let algNotAllowed = JOSEError.Code(rawValue: "alg_not_allowed")
  /// A registered algorithm or key type that this build does not support.
  public static let algNotSupported = JOSEError.Code(rawValue: "alg_not_supported")
  /// The key is of another type, curve or `alg` than the header's algorithm.
  public static let keyAlgMismatch = JOSEError.Code(rawValue: "key_alg_mismatch")
  /// The key is too small for the algorithm.
  public static let weakKey = JOSEError.Code(rawValue: "weak_key")
  /// The key is malformed: a point off the curve, a coordinate of the wrong length, private members where none may be.
  public static let invalidKey = JOSEError.Code(rawValue: "invalid_key")
  /// The signature is not one of this key over this token.
  public static let badSignature = JOSEError.Code(rawValue: "bad_signature")
  /// `crit` is malformed or lists an extension that is not understood; also `b64`.
  public static let unsupportedCrit = JOSEError.Code(rawValue: "unsupported_crit")
  /// A header parameter that must not be there.
  public static let forbiddenHeader = JOSEError.Code(rawValue: "forbidden_header")
  /// `typ` or `cty` names another kind of token.
  public static let wrongTokenType = JOSEError.Code(rawValue: "wrong_token_type")
  /// No key of the set has the header's `kid`, or none matches a header without one.
  public static let keyNotFound = JOSEError.Code(rawValue: "key_not_found")
  /// More than one key matches.
  public static let keyAmbiguous = JOSEError.Code(rawValue: "key_ambiguous")
  /// The key set as a whole is unusable.
  public static let jwksInvalid = JOSEError.Code(rawValue: "jwks_invalid")
  /// A JWE did not decrypt; deliberately without the reason.
  public static let decryptionFailed = JOSEError.Code(rawValue: "decryption_failed")
  /// A plain JWS where a JWE must be.
  public static let encryptionRequired = JOSEError.Code(rawValue: "encryption_required")
  /// A JWE where a plain JWS must be.
  public static let unexpectedEncryption = JOSEError.Code(rawValue: "unexpected_encryption")
  /// Signing or encrypting failed, for example for lack of memory.
  public static let operationFailed = JOSEError.Code(rawValue: "operation_failed")
}

extension JOSEError.Code: ConciseStringConvertible {
  /// The symbol.
  public var description: String { rawValue }
}
