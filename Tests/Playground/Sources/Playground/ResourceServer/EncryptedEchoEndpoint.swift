import JOSE
import NIOHTTP1
import PosternJSON
import PosternSupport

/// `/jose/echo`: as `/echo`, about what was encrypted; the answer goes out as compact JWE (RFC 7516), too.
///
/// Its `alg` and `enc` are the request's, else those of the query, else ECDH-ES+A256KW and A256GCM. The member `jose`
/// of the answer is the header of the request's JWE.
struct EncryptedEchoEndpoint: Endpoint {
  private static let mediaType = "application/jose"

  let settings: PayloadSettings

  func reply(to request: Request) async throws -> Reply {
    let values = settings.values
    var inner = request
    var header: JSONObject?
    var algorithm = KeyManagementAlgorithm(name: request.queryParameters?["alg"] ?? "ECDH-ES+A256KW")
    var encryption = ContentEncryption(name: request.queryParameters?["enc"] ?? "A256GCM")
    if !request.body.isEmpty {
      guard request.mediaType == Self.mediaType else { return .problem(415, "application/jose is expected") }
      guard let key = values.key else { return .problem(503, "POST a key to /playground/payloadEncryption first") }
      do throws(JOSEError) {
        let jwe = try CompactJWE(
          String(decoding: request.body, as: UTF8.self), limits: TokenLimits(maxBytes: request.body.count))
        let found = try jwe.algorithms(
          allowed: KeyManagementAlgorithm.asymmetric + KeyManagementAlgorithm.symmetric)
        (algorithm, encryption) = (found.algorithm, found.encryption)
        inner = request.withContent(
          try jwe.decrypt(with: key, algorithm: found.algorithm, encryption: found.encryption),
          type: jwe.header.contentType)
        header = jwe.header.parameters
      } catch {
        return .problem(400, error.description)
      }
    }
    var reply = try await EchoEndpoint().reply(to: inner, jose: header)
    guard values.answers != .clear, let recipient = values.recipient else { return reply }
    guard let algorithm, let encryption, case .bytes(let bytes) = reply.body else {
      return .problem(400, "alg, enc: unknown")
    }
    do throws(JOSEError) {
      var token = Array(
        try CompactJWE.encrypt(
          bytes, for: recipient, algorithm: algorithm, encryption: encryption, header: ["cty": "application/json"]
        ).utf8)
      if values.answers == .tampered, let dot = token.lastIndex(of: UInt8(ascii: ".")) {
        token[dot - 2] = token[dot - 2] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
      }
      reply.body = .bytes(token)
      reply.headers.replaceOrAdd(name: "content-type", value: Self.mediaType)
      return reply
    } catch {
      return .problem(500, error.description)
    }
  }
}
