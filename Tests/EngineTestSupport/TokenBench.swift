package import AuthEngine
package import JOSE
import PosternCrypto
package import PosternJSON
import PosternSupport
package import PosternTestSupport

/// An issuer, its keys and a validator on one manual clock: what every test of a token starts from.
package struct TokenBench: Sendable {
  package static let issuer = "https://idp.test"
  package static let keys = Result { try TokenKeys() }

  package let clock = ManualClock()
  package let signers: TokenKeys
  package let source: ScriptedKeySource
  package let validator: IDTokenValidator
  package var configuration = IDTokenConfiguration(issuer: Self.issuer, algorithms: SignatureAlgorithm.asymmetric)
  package var expectations = IDTokenExpectations(clientID: "shop", nonce: "n-1")

  package init(cache: VerdictCache? = nil) throws {
    signers = try Self.keys.get()
    source = ScriptedKeySource(signers.published)
    validator = IDTokenValidator(clock: clock, cache: cache)
  }

  package var now: Int64 { clock.wallNow.secondsSinceEpoch }

  /// The claims of a good token, with the given ones in place of theirs; nil removes one.
  package func claims(_ changes: KeyValuePairs<String, JSONValue?> = [:]) -> JSONObject {
    var claims: JSONObject = [
      "iss": .string(Self.issuer), "sub": "user-1", "aud": "shop", "exp": .integer(now + 300),
      "iat": .integer(now - 10), "auth_time": .integer(now - 60), "nonce": "n-1",
    ]
    for (name, value) in changes { claims[name] = value }
    return claims
  }

  package func token(
    _ changes: KeyValuePairs<String, JSONValue?> = [:], header: JSONObject = [:],
    algorithm: SignatureAlgorithm = .es256
  ) throws -> String {
    try CompactJWS.sign(
      claims: claims(changes), with: signers.key(for: algorithm), algorithm: algorithm, header: header)
  }

  package func verdict(on token: String, in scope: CallScope = .uid()) async throws(KeySetError) -> TokenVerdict {
    try await validator.validate(
      token, expecting: expectations, configuration: configuration, keys: source, in: scope)
  }

  package func code(of token: String) async throws(KeySetError) -> String? {
    try await verdict(on: token).fault?.code.rawValue
  }

  /// A token whose three parts are as given, encoded, whatever they hold.
  package static func raw(header: String, payload: String, signature: [UInt8] = [1, 2, 3]) -> String {
    [Array(header.utf8), Array(payload.utf8), signature].map(Base64URL.string).joined(separator: ".")
  }
}

/// One key per kind, made once.
package struct TokenKeys: Sendable {
  package let rsa: JWK
  package let p256: JWK
  package let p384: JWK
  package let p521: JWK
  package let secp256k1: JWK
  package let ed25519: JWK
  package let ed448: JWK

  package init() throws {
    rsa = try .generateRSA(keyID: "rsa")
    p256 = try .generateEC(.p256, keyID: "p256")
    p384 = try .generateEC(.p384, keyID: "p384")
    p521 = try .generateEC(.p521, keyID: "p521")
    secp256k1 = try .generateEC(.secp256k1, keyID: "secp256k1")
    ed25519 = try .generateEdwards(.ed25519, keyID: "ed25519")
    ed448 = try .generateEdwards(.ed448, keyID: "ed448")
  }

  package var all: [JWK] { [rsa, p256, p384, p521, secp256k1, ed25519, ed448] }

  package var published: JWKSet { JWKSet(all.compactMap(\.publicKey)) }

  package func key(for algorithm: SignatureAlgorithm) -> JWK {
    switch algorithm.name {
    case "ES256": p256
    case "ES384": p384
    case "ES512": p521
    case "ES256K": secp256k1
    case "EdDSA", "Ed25519": ed25519
    case "Ed448": ed448
    default: rsa
    }
  }
}
