extension TokenFault.Code {
  /// A claim that must be there is not.
  public static let missingClaim = TokenFault.Code(rawValue: "missing_claim")
  /// A claim whose value can never be right.
  public static let invalidClaim = TokenFault.Code(rawValue: "invalid_claim")
  /// A claim of the wrong JSON type.
  public static let invalidClaimType = TokenFault.Code(rawValue: "invalid_claim_type")
  /// The algorithm is not allowed.
  public static let algNotAllowed = TokenFault.Code(rawValue: "alg_not_allowed")
  /// The token is of another kind.
  public static let wrongTokenType = TokenFault.Code(rawValue: "wrong_token_type")
  /// No key has the token's `kid`.
  public static let keyNotFound = TokenFault.Code(rawValue: "key_not_found")
  /// A plain token where an encrypted one must be.
  public static let encryptionRequired = TokenFault.Code(rawValue: "encryption_required")
  /// An encrypted token where nothing was agreed to decrypt it with.
  public static let unexpectedEncryption = TokenFault.Code(rawValue: "unexpected_encryption")
  /// Another issuer.
  public static let issMismatch = TokenFault.Code(rawValue: "iss_mismatch")
  /// For somebody else.
  public static let audMismatch = TokenFault.Code(rawValue: "aud_mismatch")
  /// Also for somebody who is not trusted.
  public static let untrustedAudience = TokenFault.Code(rawValue: "untrusted_audience")
  /// Issued to another client.
  public static let azpMismatch = TokenFault.Code(rawValue: "azp_mismatch")
  /// Past its `exp`.
  public static let tokenExpired = TokenFault.Code(rawValue: "token_expired")
  /// Before its `nbf`.
  public static let tokenNotYetValid = TokenFault.Code(rawValue: "token_not_yet_valid")
  /// Issued in the future, or not before it expires.
  public static let iatInvalid = TokenFault.Code(rawValue: "iat_invalid")
  /// Issued too long ago.
  public static let tokenTooOld = TokenFault.Code(rawValue: "token_too_old")
  /// A nonce must be there.
  public static let missingNonce = TokenFault.Code(rawValue: "missing_nonce")
  /// Another nonce than the one that was sent.
  public static let nonceMismatch = TokenFault.Code(rawValue: "nonce_mismatch")
  /// The user authenticated too long ago.
  public static let authTooOld = TokenFault.Code(rawValue: "auth_too_old")
  /// None of the requested authentication contexts.
  public static let acrMismatch = TokenFault.Code(rawValue: "acr_mismatch")
  /// Not the hash of the access token.
  public static let atHashMismatch = TokenFault.Code(rawValue: "at_hash_mismatch")
  /// Not the hash of the authorization code.
  public static let cHashMismatch = TokenFault.Code(rawValue: "c_hash_mismatch")
  /// Not the hash of the state.
  public static let sHashMismatch = TokenFault.Code(rawValue: "s_hash_mismatch")
  /// Another subject than the token or answer it belongs to.
  public static let subMismatch = TokenFault.Code(rawValue: "sub_mismatch")
  /// Not the successor of the ID token before the refresh.
  public static let refreshMismatch = TokenFault.Code(rawValue: "refresh_mismatch")
  /// A logout token without the logout event.
  public static let eventsMissing = TokenFault.Code(rawValue: "events_missing")
  /// A logout token with a nonce.
  public static let nonceForbidden = TokenFault.Code(rawValue: "nonce_forbidden")
  /// A logout token that names neither a subject nor a session.
  public static let subOrSidMissing = TokenFault.Code(rawValue: "sub_or_sid_missing")
  /// A logout token that was seen before.
  public static let jtiReplayed = TokenFault.Code(rawValue: "jti_replayed")
  /// A scope that is needed is not granted.
  public static let insufficientScope = TokenFault.Code(rawValue: "insufficient_scope")
  /// Issued to another client than the one that presents it.
  public static let clientIDMismatch = TokenFault.Code(rawValue: "client_id_mismatch")
  /// Bound to a key, and no possession of a key was shown.
  public static let confirmationRequired = TokenFault.Code(rawValue: "confirmation_required")
  /// Bound to another key, or to none, than the one whose possession was shown.
  public static let confirmationMismatch = TokenFault.Code(rawValue: "confirmation_mismatch")
  /// The authorization server says that the token is not active.
  public static let inactive = TokenFault.Code(rawValue: "inactive")
  /// Another token type than the one it is used as.
  public static let tokenTypeMismatch = TokenFault.Code(rawValue: "token_type_mismatch")
}
