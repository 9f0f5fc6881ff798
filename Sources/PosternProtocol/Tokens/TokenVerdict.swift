public import PosternJSON

/// A verdict on a signed token: `valid` with its claims, or not, with the reason.
public struct TokenVerdict: ValueResult {
  public var valid: Bool
  public var claims: JSONValue?
  public var header: JSONValue?
  public var key: VerificationKey?
  public var cached: Bool?
  public var error: TokenViolation?

  /// A verdict; the rest is set one by one.
  public init(valid: Bool) { self.valid = valid }

  public static let memberDocs = [
    "valid": "Whether the token is genuine and meets every requirement",
    "claims": "The claims; only when valid",
    "header": "The protected header of the signed token; only when valid",
    "key": "The key that verified it; only when valid",
    "cached": "Whether the signature was verified at an earlier call; only when valid",
    "error": "Why it is not valid; only when it is not",
  ]
}

extension TokenVerdict {
  public var json: JSONValue {
    var members: [JSONObject.Member] = []
    members.reserveCapacity(5)
    members.add("valid", .bool(valid))
    members.add("claims", claims)
    members.add("header", header)
    members.add("key", key?.json)
    members.add("cached", cached.map { .bool($0) })
    members.add("error", error?.members.json)
    return members.json
  }
}

/// A verdict on a logout token, and its effect.
public struct LogoutVerdict: RPCObject {
  public var valid: Bool
  public var claims: JSONValue?
  public var header: JSONValue?
  public var key: VerificationKey?
  public var cached: Bool?
  public var error: TokenViolation?
  public var ended: Int?

  /// A verdict that ended nothing.
  public init(_ verdict: TokenVerdict) {
    (valid, claims, header, key, cached, error) =
      (verdict.valid, verdict.claims, verdict.header, verdict.key, verdict.cached, verdict.error)
  }

  public static let memberDocs = TokenVerdict.memberDocs.merging(
    ["ended": "How many sessions a valid token ended; only with end"], uniquingKeysWith: { first, _ in first })
}

/// The key that verified a token.
public struct VerificationKey: RPCObject {
  public var kid: String?
  public var alg: String
  public var thumbprint: String?

  /// A key of the given parts.
  public init(kid: String?, alg: String, thumbprint: String?) {
    self.kid = kid
    self.alg = alg
    self.thumbprint = thumbprint
  }

  public static let memberDocs = [
    "kid": "The key's kid, where it has one",
    "alg": "The token's alg",
    "thumbprint": "RFC 7638 with SHA-256, base64url; none for a client secret",
  ]
}

extension VerificationKey {
  fileprivate var json: JSONValue {
    var members: [JSONObject.Member] = []
    members.reserveCapacity(3)
    members.add("kid", kid.map { .string($0) })
    members.add("alg", .string(alg))
    members.add("thumbprint", thumbprint.map { .string($0) })
    return members.json
  }
}

extension TokenViolation {
  /// The members of its value.
  var members: [JSONObject.Member] {
    var members: [JSONObject.Member] = []
    members.add("code", .string(code))
    members.add("message", .string(message))
    members.add("claim", claim.map { .string($0) })
    members.add("expected", expected)
    members.add("actual", actual)
    return members
  }
}

/// Why a token is not valid: the first check that failed.
public struct TokenViolation: RPCObject {
  public var code: String
  public var message: String
  public var claim: String?
  public var expected: JSONValue?
  public var actual: JSONValue?

  /// A violation of the given parts.
  public init(code: String, message: String, claim: String?, expected: JSONValue?, actual: JSONValue?) {
    self.code = code
    self.message = message
    self.claim = claim
    self.expected = expected
    self.actual = actual
  }

  public static let memberDocs = [
    "code": "The first failing check; callers switch on it",
    "message": "For people and logs",
    "claim": "The claim or header parameter concerned",
    "expected": "The value that would have passed, where it may be shown",
    "actual": "The value that was found, where it may be shown",
  ]
}
