import HTTPMessages
import JOSE
import PosternCrypto
import PosternJSON

/// The content of a key file of payload encryption: PEM, a JWK, or a JWK Set (RFC 7517).
struct PayloadKeyText {
  static let maxBytes = 64 << 10
  /// The key in use and those before and after it; more is no rotation.
  private static let maxPrivateKeys = 8

  private let text: [UInt8]

  init(_ text: [UInt8]) { self.text = text }

  /// The key to encrypt to.
  func recipient(
    _ algorithm: KeyManagementAlgorithm, _ encryption: ContentEncryption
  ) throws(JOSEError) -> JWK {
    guard isJSON else { return try JWK(publicPEM: text) }
    return try keySet().encryptionKey(algorithm: algorithm, encryption: encryption)
  }

  /// The keys to decrypt with.
  func privateKeys() throws(JOSEError) -> [JWK] {
    guard isJSON else { return [try JWK(pem: text)] }
    let set = try keySet()
    if let entry = set.rejected.first { throw entry.reason }
    guard (1...Self.maxPrivateKeys).contains(set.keys.count) else {
      throw JOSEError(.jwksInvalid, "a key set of 1 to \(Self.maxPrivateKeys) keys is expected")
    }
    return set.keys
  }

  private var isJSON: Bool { text.first { !ASCII.isJSONSpace($0) } == UInt8(ascii: "{") }

  private func keySet() throws(JOSEError) -> JWKSet {
    let value: JSONValue
    do throws(JSONParseError) {
      value = try JSONParser(maxBytes: Self.maxBytes, maxDepth: 16).parse(text)
    } catch {
      throw JOSEError(.jwksInvalid, "the file holds no JSON that can be read")
    }
    guard value["keys"] == nil, let members = value.objectValue else { return try JWKSet(json: value, origin: .local) }
    return JWKSet([try JWK(json: members)])
  }
}
