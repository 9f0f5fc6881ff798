public import PosternJSON

/// A verdict on a signed token: `valid` with what it says, or not, with the reason.
public struct TokenVerdict: RPCObject {
  public var valid: Bool
  public var claims: JSONValue?
  public var header: JSONValue?
  public var key: VerificationKey?
  public var cached: Bool?
  public var error: TokenRefusal?

  public static let memberDocs = [
    "valid": "Whether the token is genuine and everything asked of it is true",
    "claims": "The claims; only when valid",
    "header": "The protected header of the signed token; only when valid",
    "key": "The key that verified it; only when valid",
    "cached": "Whether the signature was verified at an earlier call; only when valid",
    "error": "Why it is refused; only when not valid",
  ]
}
