import JOSE
import PosternCrypto
package import PosternJSON
import PosternSupport

/// A key that tokens are bound to (RFC 9449): made in this process, stored encrypted with its session, and never shown.
package struct DPoPKey: Sendable {
  static let algorithm = SignatureAlgorithm.es256

  private let key: JWK
  private let publicMembers: JSONObject
  /// The key's name in `dpop_jkt` and `cnf` (RFC 7638); it is public.
  package let thumbprint: String

  /// A fresh key on P-256.
  package static func generate() throws(TokenError) -> DPoPKey {
    guard let key = try? JWK.generateEC(.p256), let made = DPoPKey(key) else {
      throw TokenError(.notPossible, "no key for proofs of possession can be made")
    }
    return made
  }

  /// Reads the key in a record; nil when it is no key that signs proofs.
  package init?(record: JSONValue) {
    guard let members = record.objectValue, let key = try? JWK(json: members) else { return nil }
    self.init(key)
  }

  private init?(_ key: JWK) {
    guard key.material.isSecret, key.defaultSignatureAlgorithm == Self.algorithm, let thumbprint = key.thumbprint,
      let members = JWK(key.material).publicJSON()
    else { return nil }
    self.key = JWK(key.material)
    publicMembers = members
    self.thumbprint = thumbprint
  }

  /// Returns the key with its private part, for an encrypted record and nothing else.
  package func recordRevealingSecret() throws(TokenError) -> JSONValue {
    guard let members = try? key.privateJSONRevealingSecrets() else {
      throw TokenError(.notPossible, "a key for proofs of possession cannot be written down")
    }
    return .object(members)
  }

  /// Signs `claims`, with the public key in the header (RFC 9449 section 4.2).
  func sign(_ claims: JSONObject) throws(TokenError) -> String {
    do throws(JOSEError) {
      return try CompactJWS.sign(
        claims: claims, with: key, algorithm: Self.algorithm,
        header: ["typ": "dpop+jwt", "jwk": .object(publicMembers)])
    } catch {
      throw TokenError(.notPossible, "the proof of possession cannot be made: \(error.message)")
    }
  }
}

extension DPoPKey: Equatable, CustomStringConvertible, CustomReflectable {
  /// Whether both are the same key.
  package static func == (left: DPoPKey, right: DPoPKey) -> Bool { left.thumbprint == right.thumbprint }

  /// The thumbprint.
  package var description: String { "DPoPKey(\(thumbprint))" }

  /// Without children, so that no dump shows the key.
  package var customMirror: Mirror { Mirror(self, children: []) }
}
