import HTTPMessages
import JOSE
import OAuthClient
import PosternJSON
import PosternSupport

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
