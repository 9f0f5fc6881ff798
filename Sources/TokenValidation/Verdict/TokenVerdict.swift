public import JOSE
public import PosternJSON
public import PosternSupport

/// The verdict of a validation. An invalid token is a verdict, not an error.
public enum TokenVerdict: Sendable {
  /// The signature is genuine and all requirements are met.
  ///
  /// `claims` and `header` are those of the signed token (of the inner one, when it is encrypted). `cached` means that
  /// the signature was verified in an earlier call; the claims are checked every time.
  case valid(claims: JSONObject, header: JSONObject, key: TokenKey, cached: Bool)
  /// The token is invalid, with the first violation.
  case invalid(TokenFault)
}

extension TokenVerdict {
  /// The violation of an invalid token.
  public var fault: TokenFault? { if case .invalid(let fault) = self { fault } else { nil } }

  /// The claims of a valid token.
  public var claims: JSONObject? { if case .valid(let claims, _, _, _) = self { claims } else { nil } }

  /// Whether the token is valid.
  public var isValid: Bool { fault == nil }
}

/// The public properties of the key that verified a token.
public struct TokenKey: Sendable, Hashable {
  /// The key's `kid`.
  public let kid: String?
  /// The header's `alg`.
  public let alg: String
  /// The RFC 7638 thumbprint with SHA-256; nil for a client secret, of which it would be a hash.
  public let thumbprint: String?

  /// A key of the given names.
  public init(kid: String?, alg: String, thumbprint: String?) {
    self.kid = kid
    self.alg = alg
    self.thumbprint = thumbprint
  }
}

/// The first violation in an invalid token.
///
/// `expected` and `actual` are for diagnosis. They never have nonces, hashes, subjects or anything else that identifies
/// or protects a user.
public struct TokenFault: Error, Sendable {
  /// The name of the rule, stable: callers decide by it.
  public struct Code: Sendable, Hashable, RawRepresentable {
    /// The code on the wire.
    public let rawValue: String
    /// A code with that name.
    public init(rawValue: String) { self.rawValue = rawValue }
  }

  /// The violated rule.
  public let code: Code
  /// For people and logs.
  public let message: String
  /// The claim or header parameter of the violation.
  public let claim: String?
  /// The expected value.
  public let expected: JSONValue?
  /// The actual value.
  public let actual: JSONValue?

  /// A fault of the given parts. The actual value is cut to a length that fits a log line.
  public init(
    _ code: Code, _ message: String, claim: String? = nil, expected: JSONValue? = nil, actual: JSONValue? = nil
  ) {
    self.code = code
    self.message = message
    self.claim = claim
    self.expected = expected
    self.actual = actual.map(Self.shortened)
  }

  /// Converts an error of JOSE, with the same code.
  public init(_ error: JOSEError, expected: JSONValue? = nil, actual: JSONValue? = nil) {
    self.init(
      Code(rawValue: error.code.rawValue), error.message, claim: error.claim, expected: expected, actual: actual)
  }

  static let shownScalars = 200
  static let shownElements = 10

  private static func shortened(_ value: JSONValue) -> JSONValue {
    switch value {
    case .string(let text): .string(String(String.UnicodeScalarView(text.unicodeScalars.prefix(shownScalars))))
    case .array(let elements): .array(elements.prefix(shownElements).map(shortened))
    case .object: .string("an object")
    default: value
    }
  }
}

extension TokenFault: Equatable {
  /// Whether code and claim are the same; messages are not compared.
  public static func == (left: TokenFault, right: TokenFault) -> Bool {
    left.code == right.code && left.claim == right.claim
  }
}

extension TokenFault: ConciseStringConvertible {
  /// `code: message`.
  public var description: String { "\(code.rawValue): \(message)" }
}

extension TokenFault.Code {
  /// There is no token. Swift programs get it; a call of the sidecar without a token is malformed.
  public static let missingToken = TokenFault.Code(rawValue: "missing_token")
  /// A required claim is missing.
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
  /// The token is for another audience.
  public static let audMismatch = TokenFault.Code(rawValue: "aud_mismatch")
  /// The token is also for an audience that is not trusted.
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
  /// A required nonce is missing.
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
  /// Another subject than that of the token or answer it belongs to.
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
  /// A required scope is not granted.
  public static let insufficientScope = TokenFault.Code(rawValue: "insufficient_scope")
  /// Issued to another client than the one that presents it.
  public static let clientIDMismatch = TokenFault.Code(rawValue: "client_id_mismatch")
  /// Bound to a key, whose possession was not proven.
  public static let confirmationRequired = TokenFault.Code(rawValue: "confirmation_required")
  /// Bound to no key, or to another than the one whose possession was proven.
  public static let confirmationMismatch = TokenFault.Code(rawValue: "confirmation_mismatch")
  /// The authorization server reports the token as not active.
  public static let inactive = TokenFault.Code(rawValue: "inactive")
  /// Another token type than the one it is used as.
  public static let tokenTypeMismatch = TokenFault.Code(rawValue: "token_type_mismatch")
}

extension TokenVerdict: ConciseStringConvertible {
  /// The verdict: names of claims only.
  public var description: String {
    switch self {
    case .valid(let claims, _, let key, _): Concise.text("valid", Concise.list(claims.names, of: "claim"), "\(key)")
    case .invalid(let fault): "invalid, \(fault)"
    }
  }
}

extension TokenKey: ConciseStringConvertible {
  /// Algorithm and key: names, and a public thumbprint.
  public var description: String {
    Concise.text("alg \(Concise.name(alg))", kid.map { "kid \(Concise.name($0))" })
  }
}

extension TokenFault.Code: ConciseStringConvertible {
  /// The symbol.
  public var description: String { rawValue }
}
