import JOSE
import PosternJSON
import PosternSupport
import Testing

/// Expects that `body` throws a `JOSEError` of `code`.
func expectError<Value>(
  _ code: JOSEError.Code, _ comment: Comment? = nil, sourceLocation: SourceLocation = #_sourceLocation,
  _ body: () throws -> Value
) {
  #expect(throws: JOSEError(code, ""), comment, sourceLocation: sourceLocation) { _ = try body() }
}

/// A compact JWS out of the texts of its parts, which are encoded as they are.
func compact(_ header: String, _ payload: String, _ signature: [UInt8] = [1]) -> String {
  [Array(header.utf8), Array(payload.utf8), signature].map { Base64URL.string($0) }.joined(separator: ".")
}

/// `token` verified as a caller would who has a key set and an allow-list.
func verify(
  _ token: String, keys: JWKSet, allowed: [SignatureAlgorithm] = SignatureAlgorithm.all
) throws -> [UInt8] {
  let jws = try CompactJWS(token)
  let algorithm = try jws.algorithm(allowed: allowed)
  return try jws.verifiedPayload(
    with: keys.verificationKey(for: jws.header, algorithm: algorithm), algorithm: algorithm)
}

/// `token` decrypted as a caller would who has a key and an allow-list.
func decrypt(
  _ token: String, key: JWK, allowed: [KeyManagementAlgorithm] = KeyManagementAlgorithm.asymmetric
) throws -> [UInt8] {
  let jwe = try CompactJWE(token)
  let (algorithm, encryption) = try jwe.algorithms(allowed: allowed)
  return try jwe.decrypt(with: key, algorithm: algorithm, encryption: encryption)
}
