import AuthEngine
import EngineTestSupport
import HTTPMessages
import JOSE
import PosternCrypto
import PosternJSON
import PosternSupport
import PosternTestSupport
import Testing

@Suite("Answers must be encrypted where that is configured", .bothWays)
struct EncryptedAnswerTests {
  private func fetch(
    _ resource: EncryptedResource, keys: [JWK]? = nil, _ answer: HTTPResponse
  ) async throws -> ResourceResponse {
    let engine = Engine { _, _ in answer }
    return try await engine.fetcher.fetch(ResourceRequest(path: "x"), from: resource.server(keys: keys))
  }

  /// The defect of an answer.
  enum Flaw: String, CaseIterable, Sendable {
    case clear, noType, twoTypes, otherKey, otherAlgorithm, otherEncryption, none, malformed, fourParts, newline
    case tamperedHeader, tamperedKey, tamperedNonce, tamperedText, tamperedTag, compressed, critical, hugeHeader
    case otherKeyID, badType, lineBreakInType, notUTF8, json
  }

  private func answer(_ flaw: Flaw, _ resource: EncryptedResource) throws -> HTTPResponse {
    typealias Resource = EncryptedResource
    let token = try resource.token("{}")
    var parts = token.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    func swapped(_ index: Int) -> HTTPResponse {
      // The last character has bits that do not count.
      let other = parts[index].suffix(2).first == "A" ? "Q" : "A"
      parts[index] = parts[index].dropLast(2) + other + parts[index].suffix(1)
      return Resource.answer(parts.joined(separator: "."))
    }
    func headed(_ header: JSONObject) -> HTTPResponse {
      parts[0] = Base64URL.string(JSONWriter().write(.object(header)))
      return Resource.answer(parts.joined(separator: "."))
    }
    let header = try CompactJWE(token).header.parameters
    func adding(_ name: String, _ value: JSONValue) -> HTTPResponse {
      var more = header
      more[name] = value
      return headed(more)
    }
    switch flaw {
    case .clear: return .json("{}")
    case .noType: return HTTPResponse(status: 200, fields: HTTPFields(), body: Array(token.utf8))
    case .twoTypes: return Resource.answer(token, ("Content-Type", "application/jose"))
    case .otherKey: return Resource.answer(try resource.token("{}", for: Resource.key(resource.algorithm)))
    case .otherAlgorithm:
      return Resource.answer(
        try CompactJWE.encrypt([], for: resource.ours, algorithm: .ecdhES, encryption: resource.encryption))
    case .otherEncryption:
      return Resource.answer(
        try CompactJWE.encrypt([], for: resource.ours, algorithm: resource.algorithm, encryption: .a128GCM))
    case .none: return adding("alg", "none")
    case .malformed: return Resource.answer("garbage")
    case .fourParts: return Resource.answer("a.b.c.d")
    case .newline: return Resource.answer(token + "\n")
    case .tamperedHeader: return adding("cty", "text/html")
    case .tamperedKey: return swapped(1)
    case .tamperedNonce: return swapped(2)
    case .tamperedText: return swapped(3)
    case .tamperedTag: return swapped(4)
    case .compressed: return adding("zip", "DEF")
    case .critical: return adding("crit", ["exp"])
    case .hugeHeader: return adding("x", .string(String(repeating: "x", count: 20_000)))
    case .otherKeyID: return Resource.answer(try resource.token("{}", for: resource.ours.identified(by: "another")))
    case .badType: return Resource.answer(try resource.token("{}", cty: "a/b/c"))
    case .lineBreakInType: return Resource.answer(try resource.token("{}", cty: "text/plain\r\nX: y"))
    case .notUTF8: return HTTPResponse(status: 200, fields: Resource.answer("").fields, body: [0xFF, 0x2E, 0xFE])
    case .json: return Resource.answer(#"{"ciphertext":"x.y"}"#)
    }
  }

  @Test(
    "whatever is wrong with an encrypted answer: 1015, replied, and nothing of it in the error",
    arguments: Flaw.allCases)
  func flaws(flaw: Flaw) async throws {
    let resource = try EncryptedResource()
    let error = await #expect(throws: ResourceError.self) { try await fetch(resource, try answer(flaw, resource)) }
    #expect(error?.code == .payloadEncryptionFailed && error?.outcome == .replied && error?.retryable == false)
    #expect(error?.upstream?.status == 200)
    #expect(error?.detail.contains("eyJ") == false && error?.detail.contains("garbage") == false)
  }

  @Test(
    "without a body there is nothing to decrypt; another status than 2xx may come from a gateway",
    arguments: [(204, ""), (200, ""), (304, ""), (302, "moved"), (404, "not here"), (401, "no"), (502, "bad gateway")])
  func inTheClear(row: (Int, String)) async throws {
    let resource = try EncryptedResource()
    let response = try await fetch(resource, EncryptedResource.answer(row.1, status: row.0, type: "text/plain"))
    #expect(response.status == row.0 && response.body == Array(row.1.utf8))
    #expect(response.fields["Content-Type"] == "text/plain")
  }

  @Test("an answer declared as encrypted must be encrypted, whatever its status", arguments: [200, 404, 500])
  func anyStatus(status: Int) async throws {
    let resource = try EncryptedResource()
    let good = EncryptedResource.answer(try resource.token("{}"), status: status)
    #expect(try await fetch(resource, good).body == Array("{}".utf8))
    let error = await #expect(throws: ResourceError.self) {
      try await fetch(resource, EncryptedResource.answer("a.b.c.d.e", status: status))
    }
    #expect(error?.code == .payloadEncryptionFailed && error?.upstream?.status == status)
  }

  @Test(
    "the media type is the one in cty, and the fields about the encrypted body go",
    arguments: [
      ("application/json", "application/json"), ("json", "application/json"), (nil, nil),
      ("text/plain; charset=utf-8", "text/plain; charset=utf-8"), (" text/plain ", "text/plain"),
    ] as [(String?, String?)])
  func fields(row: (String?, String?)) async throws {
    let resource = try EncryptedResource()
    let answer = EncryptedResource.answer(
      try resource.token("{}", cty: row.0), type: "Application/JOSE; x=y", ("Content-Length", "1234"),
      ("Content-Digest", "sha-256=:x:"), ("ETag", "e"), ("X-Own", "1"))
    let response = try await fetch(resource, answer)
    #expect(response.fields.values(of: "Content-Type") == (row.1.map { [$0] } ?? []))
    #expect(Set(response.fields.lines.map { $0.name.lowercased() }).subtracting(["content-type"]) == ["etag", "x-own"])
  }

  @Test("the key before the one in use is still good, by its kid and without one")
  func rotation() async throws {
    let resource = try EncryptedResource()
    let next = try EncryptedResource.key(resource.algorithm, resource.encryption, "next")
    for key in [resource.ours, next, resource.ours.identified(by: nil), next.identified(by: nil)] {
      let answer = EncryptedResource.answer(try resource.token("{}", for: key))
      #expect(try await fetch(resource, keys: [next, resource.ours], answer).body == Array("{}".utf8))
    }
    let unnamed = EncryptedResource.answer(try resource.token("{}"))
    #expect(try await fetch(resource, keys: [resource.ours.identified(by: nil)], unnamed).status == 200)
  }

  @Test("keys that do not fit the algorithm are reported at once, with which of the two it is")
  func misfits() throws {
    let ec = try JWK.generateEC(.p256)
    let rsa = try JWK.generateRSA()
    let publicKey = try #require(ec.publicKey)
    let forSigning = JWK(ec.material, use: "sig")
    func isUnfit(_ recipient: JWK, _ key: JWK?, _ algorithm: KeyManagementAlgorithm = .ecdhESA256KW) -> Bool? {
      do throws(PayloadEncryption.KeyError) {
        _ = try PayloadEncryption(
          algorithm: algorithm, encryption: .a256GCM, recipient: recipient, decryptionKeys: key.map { [$0] } ?? [])
        return nil
      } catch .recipient {
        return true
      } catch {
        return false
      }
    }
    #expect(isUnfit(rsa, ec) == true)
    #expect(isUnfit(forSigning, ec) == true)
    #expect(isUnfit(ec, rsa) == false)
    #expect(isUnfit(ec, publicKey) == false)
    #expect(isUnfit(ec, forSigning) == false)
    #expect(isUnfit(ec, ec, .rsaOAEP256) == true)
    #expect(isUnfit(publicKey, ec) == nil)
    #expect(isUnfit(ec, ec) == nil)
    #expect(isUnfit(rsa, rsa, .rsaOAEP256) == nil)
    let kept = try PayloadEncryption(algorithm: .ecdhES, encryption: .a128GCM, recipient: ec)
    #expect(!kept.recipient.material.isSecret, "of a key pair the private half is not kept")
  }
}
