public import PosternJSON
import PosternSupport

extension CompactJWS {
  /// A signed token over `payload`. The header is `alg`, the key's `kid` if it has one, then `header` in its order;
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

  /// A signed JWT with `claims`; see the other `sign`.
  public static func sign(
    claims: JSONObject, with key: JWK, algorithm: SignatureAlgorithm, header: JSONObject = [:]
  ) throws(JOSEError) -> String {
    try sign(JSONWriter().write(.object(claims)), with: key, algorithm: algorithm, header: header)
  }
}
