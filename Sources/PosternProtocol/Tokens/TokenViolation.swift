public import PosternJSON

/// Why a token is not valid: the first check that failed.
public struct TokenViolation: RPCObject {
  public var code: String
  public var message: String
  public var claim: String?
  public var expected: JSONValue?
  public var actual: JSONValue?

  public static let memberDocs = [
    "code": "The first failing check; callers switch on it",
    "message": "For people and logs",
    "claim": "The claim or header parameter concerned",
    "expected": "The value that would have passed, where it may be shown",
    "actual": "The value that was found, where it may be shown",
  ]
}
