public import PosternJSON
import PosternSupport

/// A JWS in compact serialization (RFC 7515), decoded but not trusted: only `verifiedPayload` says that it is genuine.
public struct CompactJWS: Sendable {
  /// The protected header. Sender's word until the signature is verified.
  public let header: JOSEHeader
  let payload: [UInt8]
  let signature: [UInt8]
  private let serialization: CompactSerialization
  private let limits: TokenLimits

  /// Decodes `token`: `token_too_large`, `malformed_token`, `duplicate_claim` or `unsupported_crit` when that fails,
  /// and `alg_not_allowed` for a token that says itself that it has no signature.
  public init(_ token: String, limits: TokenLimits = TokenLimits()) throws(JOSEError) {
    try self.init(CompactSerialization(token, limits: limits), limits: limits)
  }

  /// Decodes a token that is already cut; five parts are `malformed_token`.
  public init(_ serialization: CompactSerialization, limits: TokenLimits = TokenLimits()) throws(JOSEError) {
    guard serialization.kind == .jws else { throw JOSEError(.malformedToken, "token does not have three parts") }
    let text = serialization.bytes.span.bytes
    header = try JOSEHeader(part: text.extracting(serialization.range(0)), limits: limits)
    guard let payload = Base64URL.decode(text.extracting(serialization.range(1))) else {
      throw JOSEError(.malformedToken, "payload is not base64url")
    }
    // An unsecured token (RFC 7515 appendix A.5) is told from a cut one by what it says itself.
    guard !serialization.range(2).isEmpty || !header.algorithm.hasSameASCIILetters(as: "none") else {
      throw JOSEError(.algNotAllowed, "the token is not signed", claim: "alg")
    }
    guard let signature = Base64URL.decode(text.extracting(serialization.range(2))), !signature.isEmpty else {
      throw JOSEError(.malformedToken, "signature is empty or not base64url")
    }
    self.payload = payload
    self.signature = signature
    self.serialization = serialization
    self.limits = limits
  }

  /// The payload, whoever made it. For tools that show a token, and for choosing the issuer whose keys will decide.
  public var unverifiedPayload: [UInt8] { payload }

  /// The payload as a JSON object, whoever made it: `malformed_token` or `duplicate_claim` when it is none.
  public func unverifiedClaims() throws(JOSEError) -> JSONObject {
    try TokenJSON.object(payload, limits: limits, what: "payload")
  }

  /// The header's algorithm as far as `allowed` lets it be used; see `SignatureAlgorithm.resolve`.
  public func algorithm(allowed: [SignatureAlgorithm]) throws(JOSEError) -> SignatureAlgorithm {
    try SignatureAlgorithm.resolve(header.algorithm, allowed: allowed)
  }

  /// The payload, once the signature has been found to be one of `key` under `algorithm`.
  ///
  /// `key_alg_mismatch` when the key is for something else, `weak_key` when it is too small, else `bad_signature`.
  @discardableResult
  public func verifiedPayload(with key: JWK, algorithm: SignatureAlgorithm) throws(JOSEError) -> [UInt8] {
    guard header.algorithm.hasSameBytes(as: algorithm.name) else {
      throw JOSEError(.algNotAllowed, "the token's algorithm is another one", claim: "alg")
    }
    guard key.permits(["verify"], for: .signature) else {
      throw JOSEError(.keyAlgMismatch, "the key is not for verifying signatures")
    }
    if let fault = algorithm.mismatch(with: key) ?? algorithm.weakness(of: key) { throw fault }
    let signed = serialization.bytes.span.bytes.extracting(0..<serialization.dots[1])
    guard algorithm.verify(signature, of: signed, with: key.material) else {
      throw JOSEError(.badSignature, "the signature does not match")
    }
    return payload
  }
}
