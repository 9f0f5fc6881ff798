import AuthEngine
import EngineTestSupport
import HTTPMessages
import JOSE
import PosternCrypto
import PosternJSON
import PosternSupport

/// A resource server with encrypted bodies, and the keys of both sides.
struct EncryptedResource: Sendable {
  let theirs: JWK
  let ours: JWK
  let algorithm: KeyManagementAlgorithm
  let encryption: ContentEncryption

  init(
    _ algorithm: KeyManagementAlgorithm = .ecdhESA256KW, _ encryption: ContentEncryption = .a256GCM
  ) throws {
    self.algorithm = algorithm
    self.encryption = encryption
    theirs = try Self.key(algorithm, encryption, "theirs")
    ours = try Self.key(algorithm, encryption, "ours")
  }

  /// Made once: RSA keys take a while.
  private static let rsa = Result { (try JWK.generateRSA(), try JWK.generateRSA()) }

  /// A key that fits.
  static func key(
    _ algorithm: KeyManagementAlgorithm, _ encryption: ContentEncryption = .a256GCM, _ keyID: String? = nil
  ) throws -> JWK {
    if algorithm == .direct {
      return .symmetric([UInt8](repeating: 7, count: encryption.keyByteCount), keyID: keyID)
    }
    if algorithm.isSymmetric {
      let count = algorithm.name.contains("128") ? 16 : algorithm.name.contains("192") ? 24 : 32
      return .symmetric([UInt8](repeating: 7, count: count), keyID: keyID)
    }
    guard algorithm.keyTypes.contains(.rsa) else { return try .generateEC(.p256, keyID: keyID) }
    let pair = try rsa.get()
    return (keyID == "theirs" ? pair.0 : pair.1).identified(by: keyID)
  }

  /// The resource, with `keys` for its answers.
  func server(
    keys: [JWK]? = nil, authentication: ResourceServer.Authentication = .none, origins: [String] = []
  ) throws -> ResourceServer {
    var server = try ResourceServer.testing(additionalOrigins: origins, authentication: authentication)
    server.payloadEncryption = try PayloadEncryption(
      algorithm: algorithm, encryption: encryption, recipient: theirs, decryptionKeys: keys ?? [ours])
    return server
  }

  /// Decrypts a request as its recipient does.
  func read(_ request: HTTPRequest) throws -> (header: JOSEHeader, body: [UInt8]) {
    let token = String(decoding: request.body ?? [], as: UTF8.self)
    let jwe = try CompactJWE(token, limits: TokenLimits(maxBytes: token.utf8.count))
    return (jwe.header, try jwe.decrypt(with: theirs, algorithm: algorithm, encryption: encryption))
  }

  /// An answer's body.
  func token(_ text: String, for key: JWK? = nil, cty: String? = "application/json") throws -> String {
    try CompactJWE.encrypt(
      Array(text.utf8), for: key ?? ours, algorithm: algorithm, encryption: encryption,
      header: cty.map { ["cty": .string($0)] } ?? [:])
  }

  /// An answer.
  static func answer(
    _ body: String, status: Int = 200, type: String = "application/jose", _ fields: (String, String)...
  ) -> HTTPResponse {
    let lines = [("Content-Type", type)] + fields
    return HTTPResponse(
      status: status, fields: HTTPFields(lines.map { HTTPFields.Field(name: $0.0, value: $0.1) }),
      body: Array(body.utf8))
  }
}
