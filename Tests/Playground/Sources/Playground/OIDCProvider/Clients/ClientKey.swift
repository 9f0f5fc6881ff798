import JOSE
import PosternCrypto
import PosternSupport

/// The key of clients that sign: made at the start, or given.
struct ClientKey: Sendable {
  /// The key pair, named by its thumbprint.
  let key: JWK
  /// The private key as PEM.
  let pem: [UInt8]

  /// A fresh key of P-256.
  init() throws {
    let pair = try ECPrivateKey.generate(.p256)
    self.init(.ecPrivate(pair), pem: Self.pem(of: pair, scalar: try pair.revealScalar()))
  }

  /// The key of a PEM text; a key that cannot sign is none.
  init(pem: [UInt8]) throws {
    let key = try JWK(pem: pem)
    guard key.defaultSignatureAlgorithm != nil else { throw JOSEError(.invalidKey, "the client key cannot sign") }
    self.init(key.material, pem: pem)
  }

  private init(_ material: KeyMaterial, pem: [UInt8]) {
    let key = JWK(material, use: "sig")
    self.key = key.identified(by: key.thumbprint)
    self.pem = pem
  }

  /// PKCS#8 (RFC 5958) around SEC 1: all lengths are fixed, so the bytes before the numbers are, too.
  private static func pem(of pair: ECPrivateKey, scalar: SymmetricKey) -> [UInt8] {
    let beforeScalar: [UInt8] = [
      0x30, 0x81, 0x87, 0x02, 0x01, 0x00, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08,
      0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x04, 0x6d, 0x30, 0x6b, 0x02, 0x01, 0x01, 0x04, 0x20,
    ]
    let beforePoint: [UInt8] = [0xa1, 0x44, 0x03, 0x42, 0x00, 0x04]
    let document = beforeScalar + scalar.reveal() + beforePoint + pair.publicKey.x + pair.publicKey.y
    var lines = ["-----BEGIN PRIVATE KEY-----"]
    var rest = Base64.encode(document)[...]
    while !rest.isEmpty {
      lines.append(String(decoding: rest.prefix(64), as: UTF8.self))
      rest = rest.dropFirst(64)
    }
    lines.append("-----END PRIVATE KEY-----\n")
    return Array(lines.joined(separator: "\n").utf8)
  }
}
