public import PosternJSON
public import PosternSupport

/// A JWS in compact serialization (RFC 7515), decoded but not verified: `verifiedPayload` does that.
public struct CompactJWS: Sendable {
  /// The protected header. Not authentic until the signature is verified.
  public let header: JOSEHeader
  let payload: [UInt8]
  let signature: [UInt8]
  private let serialization: CompactSerialization
  private let limits: TokenLimits

  /// Decodes `token`: `token_too_large`, `malformed_token`, `duplicate_claim` or `unsupported_crit` when that fails,
  /// and `alg_not_allowed` for an unsecured token (`alg` is `none`).
  public init(_ token: String, limits: TokenLimits = TokenLimits()) throws(JOSEError) {
    try self.init(CompactSerialization(token, limits: limits), limits: limits)
  }

  /// Decodes a token that is already split; five parts are `malformed_token`.
  public init(_ serialization: CompactSerialization, limits: TokenLimits = TokenLimits()) throws(JOSEError) {
    guard serialization.kind == .jws else { throw JOSEError(.malformedToken, "token does not have three parts") }
    let text = serialization.bytes.span.bytes
    header = try JOSEHeader(part: text.extracting(serialization.range(0)), limits: limits)
    guard let payload = Base64URL.decode(text.extracting(serialization.range(1))) else {
      throw JOSEError(.malformedToken, "payload is not base64url")
    }
    // Without a signature, `alg` distinguishes an unsecured token (RFC 7515 appendix A.5) from a truncated one.
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

  /// The payload as a JSON object, not verified: for choosing the issuer whose keys verify the token, and for tools
  /// that show it. `malformed_token` or `duplicate_claim` when it is no such object.
  public func unverifiedClaims() throws(JOSEError) -> JSONObject {
    try TokenJSON.object(payload, limits: limits, what: "payload")
  }

  /// The header's algorithm, if `allowed` contains it; see `SignatureAlgorithm.resolve`.
  public func algorithm(allowed: [SignatureAlgorithm]) throws(JOSEError) -> SignatureAlgorithm {
    try SignatureAlgorithm.resolve(header.algorithm, allowed: allowed)
  }

  /// Verifies the signature with `key` by `algorithm`, and returns the payload.
  ///
  /// `key_alg_mismatch` when the key is for another use, `weak_key` when it is too small, else `bad_signature`.
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

extension CompactJWS {
  /// Signs `payload`. The header is `alg`, the key's `kid` if it has one, then `header` in its order;
  /// a `kid` in `header` replaces the key's.
  ///
  /// `key_alg_mismatch`, `weak_key` and `invalid_key` (a public key) as for verification; `forbidden_header` for an
  /// `alg` or an extension (`crit`, `b64`) in `header`.
  public static func sign(
    _ payload: [UInt8], with key: JWK, algorithm: SignatureAlgorithm, header: JSONObject = [:]
  ) throws(JOSEError) -> String {
    guard key.permits(["sign"], for: .signature) else {
      throw JOSEError(.keyAlgMismatch, "the key is not for signing")
    }
    if let fault = algorithm.mismatch(with: key) ?? algorithm.weakness(of: key) { throw fault }
    var parameters: JSONObject = ["alg": .string(algorithm.name)]
    parameters["kid"] = key.keyID.map { .string($0) }
    for member in header.members {
      guard !["alg", "crit", "b64"].contains(member.name) else {
        throw JOSEError(.forbiddenHeader, "this header parameter cannot be given", claim: member.name)
      }
      parameters[member.name] = member.value
    }
    var token = Base64URL.encode(JSONWriter().write(.object(parameters)))
    token.append(UInt8(ascii: "."))
    token += Base64URL.encode(payload)
    let signature = try algorithm.sign(token.span.bytes, with: key.material)
    token.append(UInt8(ascii: "."))
    token += Base64URL.encode(signature)
    return String(decoding: token, as: UTF8.self)
  }

  /// Signs a JWT with `claims`, as the other `sign` does.
  public static func sign(
    claims: JSONObject, with key: JWK, algorithm: SignatureAlgorithm, header: JSONObject = [:]
  ) throws(JOSEError) -> String {
    try sign(JSONWriter().write(.object(claims)), with: key, algorithm: algorithm, header: header)
  }
}

extension CompactJWS: ConciseStringConvertible {
  /// The header: never the token.
  public var description: String { "JWS, \(header)" }
}
