public import PosternCrypto
public import PosternJSON
import PosternSupport

extension JWK {
  /// The public key as JSON; nil for a symmetric key, which has no public half.
  public func publicJSON() -> JSONObject? {
    publicKey.map { $0.json(with: $0.material.requiredMembers(revealingSymmetric: false)) }
  }

  /// The key as JSON with its private members. Search for this name to find where key material leaves its box.
  public func privateJSONRevealingSecrets() throws(CryptoError) -> JSONObject {
    json(with: material.requiredMembers(revealingSymmetric: true) + (try material.privateMembers()))
  }

  private func json(with members: [(String, JSONValue)]) -> JSONObject {
    var object = JSONObject(members)
    object["kid"] = keyID.map { .string($0) }
    object["alg"] = algorithm.map { .string($0) }
    object["use"] = use.map { .string($0) }
    object["key_ops"] = operations.map { .array($0.map { .string($0) }) }
    if !certificates.isEmpty { object["x5c"] = .array(certificates.map { .string(Base64.string($0.bytes)) }) }
    return object
  }
}
