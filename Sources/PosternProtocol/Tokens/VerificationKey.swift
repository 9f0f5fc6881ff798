/// The key that verified a token.
public struct VerificationKey: RPCObject {
  public var kid: String?
  public var alg: String
  public var thumbprint: String?

  public static let memberDocs = [
    "kid": "The key's kid, where it has one",
    "alg": "The token's alg",
    "thumbprint": "RFC 7638 with SHA-256, base64url; none for a client secret",
  ]
}
