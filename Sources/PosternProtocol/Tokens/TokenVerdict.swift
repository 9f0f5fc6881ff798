public import PosternJSON

/// A verdict on a signed token: `valid` with its claims, or not, with the reason.
public struct TokenVerdict: RPCObject {
  public var valid: Bool
  public var claims: JSONValue?
  public var header: JSONValue?
  public var key: VerificationKey?
  public var cached: Bool?
  public var error: TokenViolation?

  public static let memberDocs = [
    "valid": "Whether the token is genuine and meets every requirement",
    "claims": "The claims; only when valid",
    "header": "The protected header of the signed token; only when valid",
    "key": "The key that verified it; only when valid",
    "cached": "Whether the signature was verified at an earlier call; only when valid",
    "error": "Why it is not valid; only when it is not",
  ]
}
