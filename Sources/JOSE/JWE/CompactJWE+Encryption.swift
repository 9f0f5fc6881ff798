import PosternCrypto
public import PosternJSON
import PosternSupport

extension CompactJWE {
  /// An encrypted token over `plaintext` for the holder of `key`. The header is `alg`, `enc`, the key's `kid` if it has
  /// one, what the algorithm needs, then `header` in its order (`apu` and `apv` among it are bound into the key, where
  /// that is agreed).
  ///
  /// `key_alg_mismatch`, `weak_key` and `invalid_key` as for decryption; `forbidden_header` for a parameter in `header`
  /// that is the algorithm's own, an extension, or compression.
  public static func encrypt(
    _ plaintext: [UInt8], for key: JWK, algorithm: KeyManagementAlgorithm, encryption: ContentEncryption,
    header: JSONObject = [:]
  ) throws(JOSEError) -> String {
    guard key.permits(algorithm.encryptionOperations, for: .encryption) else {
      throw JOSEError(.keyAlgMismatch, "the key is not for encrypting")
    }
    if let fault = algorithm.mismatch(with: key, encryption: encryption) ?? algorithm.weakness(of: key) { throw fault }
    if let member = header.members.first(where: { reservedParameters.contains($0.name) }) {
      throw JOSEError(.forbiddenHeader, "this header parameter cannot be given", claim: member.name)
    }
    do throws(CryptoError) {
      let wrapped = try algorithm.makeContentKey(for: key.material, parameters: header, encryption: encryption)
      if let wrapped {
        var parameters: JSONObject = ["alg": .string(algorithm.name), "enc": .string(encryption.name)]
        parameters["kid"] = key.keyID.map { .string($0) }
        for (name, value) in wrapped.parameters { parameters[name] = value }
        for member in header.members { parameters[member.name] = member.value }
        return try assemble(plaintext, wrapped, parameters, encryption)
      }
    } catch {
      throw JOSEError(.operationFailed, error.message)
    }
    throw JOSEError(.invalidKey, "\(algorithm.name) cannot encrypt with this key or header")
  }

  private static let reservedParameters = ["alg", "enc", "zip", "crit", "b64", "epk", "iv", "tag", "p2s", "p2c"]

  private static func assemble(
    _ plaintext: [UInt8], _ wrapped: KeyManagementAlgorithm.WrappedKey, _ parameters: JSONObject,
    _ encryption: ContentEncryption
  ) throws(CryptoError) -> String {
    var token = Base64URL.encode(JSONWriter().write(.object(parameters)))
    let sealed = try encryption.seal(plaintext.span.bytes, key: wrapped.contentKey, authenticating: token.span.bytes)
    for part in [wrapped.encryptedKey, sealed.iv, sealed.message.ciphertext, sealed.message.tag] {
      token.append(UInt8(ascii: "."))
      token += Base64URL.encode(part)
    }
    return String(decoding: token, as: UTF8.self)
  }
}
