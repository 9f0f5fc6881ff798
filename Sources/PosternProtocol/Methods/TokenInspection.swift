public import PosternJSON
public import PosternSupport

/// `verifyJws`: a signature, offline.
public enum VerifyJWS: RPCMethod {
  public static let name = "verifyJws"
  public static let bounds: PeerBounds = []
  public static let chain: ChainRule = .open
  public static let traits: MethodTraits = .needsNoApproval
  public static let summary = "Verifies a compact JWS with given keys, offline"
  public static let explanation =
    "For tooling and conformance vectors: only the signature is checked, no claim. Exactly one of jwks and jwk."
  public static let resultSummary = "Whether a given key made the signature"
  public static let errors: [ErrorCode] = [.jwksInvalid]

  public struct Params: RPCObject {
    public var jws: String
    public var jwks: JSONValue?
    public var jwk: JSONValue?
    public var algorithms: [String]?

    public static let memberDocs = [
      "jws": "The JWS in compact serialization",
      "jwks": "A key set; a mix of symmetric and asymmetric keys is rejected",
      "jwk": "A single key, which the header may or may not name",
      "algorithms": "The algorithms to accept; default: all that fit the key",
    ]
  }

  public struct Result: RPCObject {
    public var valid: Bool
    public var header: JSONValue?
    public var payload: String?
    public var payloadBase64: String?
    public var error: TokenViolation?

    /// A verdict; the rest is set one by one.
    public init(valid: Bool) { self.valid = valid }

    public static let memberDocs = [
      "valid": "Whether the signature is one of the key",
      "header": "The protected header, where it can be read; the sender's word unless valid",
      "payload": "The payload when it is valid UTF-8; only when valid",
      "payloadBase64": "The payload otherwise; only when valid",
      "error": "Why it is not valid; only when it is not",
    ]
  }
}

/// `decryptJwe`: an encrypted message, offline.
public enum DecryptJWE: RPCMethod {
  public static let name = "decryptJwe"
  public static let bounds: PeerBounds = []
  public static let chain: ChainRule = .open
  public static let summary = "Decrypts a compact JWE with a given key, offline"
  public static let explanation =
    "For tooling and conformance vectors. RSA1_5 is never accepted, PBES2 only when algorithms names it, with at most 10,000 iterations."
  public static let resultSummary = "The plaintext, when the key opens the message"
  public static let errors: [ErrorCode] = [.jwksInvalid]

  public struct Params: RPCObject {
    public var jwe: String
    public var jwk: JSONValue
    public var algorithms: [String]?

    public static let memberDocs = [
      "jwe": "The JWE in compact serialization",
      "jwk": "The private or shared key",
      "algorithms": "The key management algorithms to accept; default: all but PBES2",
    ]
  }

  public struct Result: RPCObject {
    public var valid: Bool
    public var header: JSONValue?
    public var plaintext: String?
    public var plaintextBase64: String?
    public var error: TokenViolation?

    /// A verdict; the rest is set one by one.
    public init(valid: Bool) { self.valid = valid }

    public static let memberDocs = [
      "valid": "Whether the key opens the message",
      "header": "The protected header, where it can be read; the sender's word unless valid",
      "plaintext": "The plaintext when it is valid UTF-8; only when valid",
      "plaintextBase64": "The plaintext otherwise; only when valid",
      "error": "Why it is not valid; only when it is not",
    ]
  }
}
