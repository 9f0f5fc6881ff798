import HTTPMessages
import JOSE
import PosternSupport

extension PayloadEncryption {
  /// Fields that were true of the encrypted body only.
  private static let bodyFields: Set<String> = [
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
    opened.fields.removeAll { Self.bodyFields.contains($0) }
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
