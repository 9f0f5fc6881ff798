import HTTPMessages
public import JOSE
import OAuthClient
import PosternJSON
public import PosternSupport

/// How a resource's bodies are encrypted, as compact JWE (RFC 7516), and with which keys.
public struct PayloadEncryption: Sendable, ConciseStringConvertible {
  /// `application/jose` (RFC 7515 section 9.2.1), in both directions.
  static let mediaType = "application/jose"
  /// A longer header of an answer is not parsed.
  static let maxHeaderBytes = 16 << 10

  /// `alg`, of requests and of answers.
  public let algorithm: KeyManagementAlgorithm
  /// `enc`, of requests and of answers.
  public let encryption: ContentEncryption
  /// The key that requests are encrypted to.
  public let recipient: JWK
  /// The keys that responses may be encrypted to: the one in use and those before or after it. Empty where they come in
  /// the clear.
  public let decryptionKeys: [JWK]
  /// The algorithms: never key material.
  public var description: String {
    Concise.text("\(algorithm) with \(encryption)", decryptsAnswers ? "answers too" : nil)
  }

  /// Whether answers must be encrypted.
  public var decryptsAnswers: Bool { !decryptionKeys.isEmpty }

  /// Why a key cannot be used.
  public enum KeyError: Error, Sendable, ConciseStringConvertible {
    /// The recipient's key cannot be encrypted to.
    case recipient(JOSEError)
    /// A key for answers cannot decrypt.
    case decryptionKey(JOSEError)
    /// Which key it is, and why it cannot be used.
    public var description: String {
      switch self {
      case .recipient(let error): "the recipient's key cannot be used: \(error)"
      case .decryptionKey(let error): "a key for answers cannot be used: \(error)"
      }
    }
  }

  /// Encryption with keys that are tried out here. Of a recipient's key pair only the public half is kept.
  public init(
    algorithm: KeyManagementAlgorithm, encryption: ContentEncryption, recipient: JWK, decryptionKeys: [JWK] = []
  ) throws(KeyError) {
    self.algorithm = algorithm
    self.encryption = encryption
    self.recipient = recipient.publicKey ?? recipient
    self.decryptionKeys = decryptionKeys
    do throws(JOSEError) {
      _ = try CompactJWE.encrypt([], for: self.recipient, algorithm: algorithm, encryption: encryption)
    } catch {
      throw .recipient(error)
    }
    do throws(JOSEError) {
      for key in decryptionKeys { try Self.tryOut(key, algorithm, encryption) }
    } catch {
      throw .decryptionKey(error)
    }
  }

  private static func tryOut(
    _ key: JWK, _ algorithm: KeyManagementAlgorithm, _ encryption: ContentEncryption
  ) throws(JOSEError) {
    // `key_ops` of a private key speak of decrypting.
    let sender = JWK(key.material.publicMaterial ?? key.material, algorithm: key.algorithm, use: key.use)
    let token = try CompactJWE.encrypt([], for: sender, algorithm: algorithm, encryption: encryption)
    _ = try CompactJWE(token).decrypt(with: key, algorithm: algorithm, encryption: encryption)
  }
}

extension PayloadEncryption {
  /// Fields that speak of the body's bytes: of the ones on the wire they would be wrong, and digests of the others
  /// betray them.
  private static let bodyFields: Set<String> = [
    "content-digest", "content-encoding", "content-md5", "digest", "repr-digest",
  ]

  /// Rejects header fields that a caller must not give with a body that is to be encrypted.
  static func check(_ fields: HTTPFields) throws(ResourceError) {
    guard let line = fields.lines.first(where: { bodyFields.contains($0.name.lowercasedASCII()) }) else { return }
    throw ResourceError(
      .invalidHeaders, "the header speaks of a body that is encrypted on its way", path: ["headers", .name(line.name)])
  }

  /// `request` as it goes out, with a fresh key each time: its body, if any, encrypted, the media type in `cty` (RFC
  /// 7516 section 4.1.12), and an encrypted response is requested where one can be decrypted. The rest of the message
  /// is in the open.
  func sealed(_ request: HTTPRequest) throws(ResourceError) -> HTTPRequest {
    var sealed = request
    if decryptsAnswers { sealed.fields["Accept"] = Self.mediaType }
    // HEAD has no body, not even an encrypted nothing.
    guard let body = request.body, !(body.isEmpty && request.method == "HEAD") else { return sealed }
    var header = JSONObject()
    if let type = request.fields["Content-Type"] { header["cty"] = .string(type) }
    do throws(JOSEError) {
      let token = try CompactJWE.encrypt(
        body, for: recipient, algorithm: algorithm, encryption: encryption, header: header)
      sealed.body = Array(token.utf8)
    } catch {
      throw ResourceError(.payloadEncryptionFailed, "the body cannot be encrypted", retryable: false)
    }
    sealed.fields["Content-Type"] = Self.mediaType
    return sealed
  }
}

extension PayloadEncryption {
  /// Fields that were true of the encrypted body only.
  private static let encryptedBodyFields: Set<String> = [
    "content-digest", "content-encoding", "content-length", "content-md5", "content-type", "digest", "repr-digest",
  ]

  /// `response` with its body decrypted and the fields about it put right.
  ///
  /// An answer without a body passes: nothing of it could be encrypted. So does one in the clear with another status
  /// than 2xx, which gateways in front of the resource give; their content is not vouched for.
  func opened(_ response: HTTPResponse) throws(ResourceError) -> HTTPResponse {
    guard decryptsAnswers, !response.body.isEmpty else { return response }
    let types = response.fields.values(of: "Content-Type")
    guard types.count == 1, MediaType(types[0])?.essence == Self.mediaType else {
      guard !(200..<300).contains(response.status) else {
        throw fault("the answer is not encrypted", response)
      }
      return response
    }
    let jwe: CompactJWE
    do throws(JOSEError) {
      jwe = try Self.parse(response.body)
    } catch {
      throw fault("the answer is no compact JWE that can be read", response)
    }
    var opened = response
    opened.body = try plaintext(of: jwe, response)
    opened.fields.removeAll { Self.encryptedBodyFields.contains($0) }
    if let type = try contentType(of: jwe.header, response) { opened.fields.append("Content-Type", type) }
    return opened
  }

  private static func parse(_ body: [UInt8]) throws(JOSEError) -> CompactJWE {
    // The body was bounded when it was received; what is parsed of it as JSON is bounded here.
    guard body.prefix(maxHeaderBytes + 1).contains(UInt8(ascii: ".")),
      let text = String(validating: body, as: UTF8.self)
    else { throw JOSEError(.malformedToken, "no compact serialization") }
    return try CompactJWE(text, limits: TokenLimits(maxBytes: body.count))
  }

  /// The header's `kid` chooses among keys that have one; a key without stands for any. Why none fits is not told
  /// apart.
  private func plaintext(of jwe: CompactJWE, _ response: HTTPResponse) throws(ResourceError) -> [UInt8] {
    do throws(JOSEError) {
      _ = try jwe.algorithms(allowed: [algorithm], encryptions: [encryption])
    } catch {
      throw fault("the answer's algorithms are not the configured ones", response)
    }
    for key in decryptionKeys where isMeant(key, by: jwe.header.keyID) {
      if let found = try? jwe.decrypt(with: key, algorithm: algorithm, encryption: encryption) { return found }
    }
    throw fault("the answer cannot be decrypted", response)
  }

  private func isMeant(_ key: JWK, by keyID: String?) -> Bool {
    guard let keyID, let own = key.keyID else { return true }
    return own.hasSameBytes(as: keyID)
  }

  /// The media type in `cty`; without a slash `application/` is left out of it (RFC 7515 section 4.1.10).
  private func contentType(
    of header: JOSEHeader, _ response: HTTPResponse
  ) throws(ResourceError) -> String? {
    guard let given = header.contentType else { return nil }
    let type = given.utf8.contains(UInt8(ascii: "/")) ? given : "application/\(given)"
    guard type.utf8.count <= 1024, HTTPFieldRules.isValue(type), MediaType(type) != nil else {
      throw fault("the answer's cty is no media type", response)
    }
    return HTTPFieldRules.trimmed(type)
  }

  private func fault(_ detail: String, _ response: HTTPResponse) -> ResourceError {
    ResourceError(
      .payloadEncryptionFailed, detail, outcome: .replied, upstream: .init(status: response.status), retryable: false)
  }
}
