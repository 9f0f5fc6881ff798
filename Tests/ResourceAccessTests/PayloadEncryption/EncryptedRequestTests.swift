import AuthEngine
import EngineTestSupport
import HTTPMessages
import JOSE
import OAuthClient
import PosternCrypto
import PosternJSON
import PosternSupport
import PosternTestSupport
import Testing

@Suite("Bodies of requests are encrypted on their way out", .bothWays)
struct EncryptedRequestTests {
  static let algorithms = KeyManagementAlgorithm.asymmetric + KeyManagementAlgorithm.symmetric

  @Test("every algorithm goes both ways, with the media type in cty and the kid of the key", arguments: algorithms)
  func everyAlgorithm(algorithm: KeyManagementAlgorithm) async throws {
    for encryption in ContentEncryption.all {
      let resource = try EncryptedResource(algorithm, encryption)
      let answer = try resource.token(#"{"b":2}"#)
      let engine = Engine { _, _ in EncryptedResource.answer(answer) }
      let response = try await engine.fetcher.fetch(
        ResourceRequest(path: "x", method: "POST", parameters: ["a": 1]), from: resource.server())
      #expect(String(decoding: response.body, as: UTF8.self) == #"{"b":2}"#)
      #expect(response.fields["Content-Type"] == "application/json")
      let request = try #require(engine.transport.requests.last)
      #expect(request.fields["Content-Type"] == "application/jose")
      #expect(request.fields["Accept"] == "application/jose")
      let (header, body) = try resource.read(request)
      #expect(String(decoding: body, as: UTF8.self) == #"{"a":1}"#)
      #expect(header.contentType == "application/json" && header.keyID == "theirs")
      #expect(header.parameters["enc"] == .string(encryption.name) && header.algorithm == algorithm.name)
    }
  }

  static let kinds: [(ResourceRequest, String?, String)] = [
    (ResourceRequest(path: "x", method: "POST", parameters: ["a": 1]), "application/json", #"{"a":1}"#),
    (
      ResourceRequest(path: "x", method: "PUT", parameters: ["a": 1], parametersEncoding: .formURL),
      FormEncoding.mediaType, "a=1"
    ),
    (
      ResourceRequest(
        path: "x", method: "PATCH", body: Array("raw".utf8),
        headers: HTTPFields([.init(name: "content-type", value: "text/plain")])), "text/plain", "raw"
    ),
    (ResourceRequest(path: "x", method: "DELETE", body: Array("raw".utf8)), nil, "raw"),
    (ResourceRequest(path: "x", method: "POST", body: []), nil, ""),
  ]

  @Test("every kind of body, an empty one too; none without a media type gets one", arguments: kinds)
  func everyKind(row: (ResourceRequest, String?, String)) async throws {
    let resource = try EncryptedResource()
    let engine = Engine { _, _ in .status(204) }
    _ = try await engine.fetcher.fetch(row.0, from: resource.server())
    let (header, body) = try resource.read(try #require(engine.transport.requests.last))
    #expect(header.contentType == row.1)
    #expect(String(decoding: body, as: UTF8.self) == row.2)
  }

  @Test("multipart bodies keep their boundary in cty")
  func multipart() async throws {
    let resource = try EncryptedResource()
    let engine = Engine { _, _ in .status(204) }
    let parts = [MultipartPart(name: "f", fileName: "f.txt", mimeType: nil, data: Array("content".utf8))]
    _ = try await engine.fetcher.fetch(
      ResourceRequest(path: "x", method: "POST", multipart: parts), from: resource.server())
    let request = try #require(engine.transport.requests.last)
    let (header, body) = try resource.read(request)
    let boundary = try #require(header.contentType?.split(separator: "boundary=").last)
    #expect(String(decoding: body, as: UTF8.self).hasPrefix("--\(boundary)\r\n"))
    #expect(!String(decoding: request.body ?? [], as: UTF8.self).contains("content"))
  }

  @Test("what has no body is sent without one, its query in the open", arguments: ["GET", "HEAD", "DELETE", "POST"])
  func nothingToEncrypt(method: String) async throws {
    let resource = try EncryptedResource()
    let engine = Engine { _, _ in .status(204) }
    let hasQuery = method != "POST"
    _ = try await engine.fetcher.fetch(
      ResourceRequest(path: "x", method: method, parameters: hasQuery ? ["a": 1] : nil), from: resource.server())
    let request = try #require(engine.transport.requests.last)
    #expect(request.body == nil && request.fields["Content-Type"] == nil)
    #expect(request.fields["Accept"] == "application/jose")
    #expect(request.url.description.hasSuffix("?a=1") == hasQuery)
  }

  @Test("a retry with a newer token and a redirect that keeps the body are encrypted again, with other keys")
  func encryptedAgain() async throws {
    let resource = try EncryptedResource()
    let tokens = Counter()
    let engine = Engine { request, _ in
      switch request.url.description {
      case "https://idp.test/token": .token("t\(tokens.next())")
      case "https://api.test/base/x" where request.fields["Authorization"] == "Bearer t1": .unauthorized
      case "https://api.test/base/x": .status(307, ("Location", "https://cdn.test/y"))
      default: .status(204)
      }
    }
    _ = try await engine.fetcher.fetch(
      ResourceRequest(path: "x", method: "POST", parameters: ["a": 1]),
      from: resource.server(authentication: .clientCredentials, origins: ["https://cdn.test"]))
    let requests = engine.transport.requests.filter { $0.url.origin.host != "idp.test" }
    #expect(requests.count == 3)
    #expect(Set(requests.map { $0.body ?? [] }).count == 3)
    for request in requests {
      #expect(String(decoding: try resource.read(request).body, as: UTF8.self) == #"{"a":1}"#)
      #expect(request.fields["Accept"] == "application/jose")
    }
  }

  @Test("a redirect to a URL outside of the resource gets no body, not even an encrypted one")
  func noBodyElsewhere() async throws {
    let resource = try EncryptedResource()
    let engine = Engine { _, _ in .status(307, ("Location", "https://evil.test/")) }
    let response = try await engine.fetcher.fetch(
      ResourceRequest(path: "x", method: "POST", parameters: ["a": 1]), from: resource.server())
    #expect(response.status == 307 && engine.transport.requests.count == 1)
  }

  @Test(
    "headers about the body's bytes are refused: digests tell what is in it",
    arguments: ["Content-Encoding", "Content-MD5", "Digest", "Content-Digest", "repr-digest"])
  func rejectedHeaders(name: String) async throws {
    let resource = try EncryptedResource()
    let engine = Engine { _, _ in .status(204) }
    let headers = HTTPFields([.init(name: name, value: "gzip")])
    let error = await #expect(throws: ResourceError.self) {
      try await engine.fetcher.fetch(
        ResourceRequest(path: "x", method: "POST", body: [1], headers: headers), from: resource.server())
    }
    #expect(error?.code == .invalidHeaders && error?.path?.jsonPointer == "/headers/\(name)")
    #expect(engine.transport.requests.isEmpty)
    _ = try await engine.fetcher.fetch(ResourceRequest(path: "x", headers: headers), from: resource.server())
  }

  @Test("without a key for answers the caller's Accept stays, and an answer in the clear is the result")
  func oneWay() async throws {
    let resource = try EncryptedResource()
    let engine = Engine { _, _ in .json("{}") }
    let headers = HTTPFields([.init(name: "Accept", value: "application/json")])
    let response = try await engine.fetcher.fetch(
      ResourceRequest(path: "x", method: "POST", body: [1], headers: headers), from: resource.server(keys: []))
    #expect(response.status == 200 && response.body == Array("{}".utf8))
    let request = try #require(engine.transport.requests.last)
    #expect(request.fields["Accept"] == "application/json" && request.fields["Content-Type"] == "application/jose")
  }

  @Test("an encrypted answer is not taken in pieces: nothing is sent")
  func noPieces() async throws {
    let resource = try EncryptedResource()
    let engine = Engine { _, _ in .status(204) }
    var options = FetchOptions()
    options.deliver = { _ in true }
    let error = await #expect(throws: ResourceError.self) {
      try await engine.fetcher.fetch(ResourceRequest(path: "x"), from: resource.server(), options: options)
    }
    #expect(error?.code == .payloadEncryptionFailed && error?.outcome == .notSent)
    #expect(engine.transport.requests.isEmpty)
  }
}
