import AuthEngine
import EngineTestSupport
import HTTPMessages
import OAuthClient
import PosternJSON
import PosternSupport
import PosternTestSupport
import Testing

/// Requests as Swift code makes them: factory and builder say the same as the initialiser.
@Suite(.bothWays) struct ResourceRequestTests {
  /// The request as sent; the boundary of multipart bodies is random.
  private func sent(_ request: ResourceRequest) async throws -> String {
    let engine = Engine { _, _ in .status(204) }
    _ = try await engine.fetcher.fetch(request, from: .testing(authentication: .none))
    let sent = try #require(engine.transport.requests.first)
    let boundary = sent.fields["Content-Type"]?.split(separator: "boundary=").last.map(String.init) ?? "\u{0}"
    let text = "\(sent.method) \(sent.url) \(sent.fields.lines) " + String(decoding: sent.body ?? [], as: UTF8.self)
    return text.replacing(boundary, with: "BOUNDARY")
  }

  private static let part = MultipartPart(name: "file", fileName: "a.txt", data: [1])

  static let equals: [(String, ResourceRequest, ResourceRequest)] = [
    ("GET by default", ResourceRequestFactory.makeResourceRequest(path: "x"), ResourceRequest(path: "x")),
    (
      "parameters as JSON by default",
      ResourceRequestFactory.makeResourceRequest(path: "x", method: .post, parameters: ["a": 1]),
      ResourceRequestBuilder().setPath("x").setMethod("post").setParameters(["a": 1]).build()
    ),
    (
      "a body overrides parameters and their encoding",
      ResourceRequestFactory.makeResourceRequest(
        path: "x", method: .put, parameters: ["a": 1], body: [65], headers: ["X": "1", "x": "2"],
        parametersEncoding: .formURL),
      ResourceRequestBuilder().setPath("x").setMethod(.put).setBody([65]).setHeaders(["X": "1", "x": "2"]).build()
    ),
    (
      "parameters as a form",
      ResourceRequestFactory.makeResourceRequest(
        path: "x", method: .patch, parameters: ["a": ["b"]], parametersEncoding: .formURL),
      ResourceRequest(path: "x", method: "PATCH", parameters: ["a": ["b"]], parametersEncoding: .formURL)
    ),
    (
      "multipart, with headers",
      ResourceRequestFactory.makeMultipartResourceRequest(
        path: "x", parameters: ["a": 1], multipartData: [part], headers: ["X-Flags": "1"]),
      ResourceRequestBuilder().setHeaders(["X-Flags": "1"]).setMultipartData([part]).setParameters(["a": 1])
        .setParametersEncoding(.formURL).setMethod(.post).setPath("x").build()
    ),
  ]

  @Test("factory, builder and initialiser make the same request", arguments: equals)
  func same(row: (String, ResourceRequest, ResourceRequest)) async throws {
    #expect(try await sent(row.1) == sent(row.2), "\(row.0)")
    #expect(try await sent(ResourceRequestBuilder(row.1).build()) == sent(row.1), "\(row.0)")
  }

  @Test("a mutable request is sent as it is at that moment, in each form, by each client")
  func mutable() async throws {
    let engine = Engine { _, _ in .status(204) }
    let server = try ResourceServer.testing(authentication: .none)
    let client = DeviceClient(fetcher: engine.fetcher, server: server)
    var request = MutableResourceRequest(path: "x", method: "put")
    request.headers = ["X-Flags": "1000010"]
    request.parameters = ["username": "foo@bar.baz"]
    request.parametersEncoding = .formURL
    _ = try await engine.fetcher.fetch(request, from: server)
    request.method = "DELETE"
    request.path = "y"
    _ = try await client.sendUnauthenticatedRequest(request)
    request.path = "z"
    let outcomes = Outcomes()
    let task = client.sendUnauthenticatedRequest(request) { outcomes.take($0) }
    request.path = "later"
    #expect(await outcomes.only?.success?.status == 204)
    #expect(
      task.request.path == "z" && MutableResourceRequest(path: "a", method: .post).resourceRequest.method == "POST")
    let sent = engine.transport.requests
    #expect(sent.map(\.method) == ["PUT", "DELETE", "DELETE"])
    #expect(sent.map(\.url.path) == ["/base/x", "/base/y", "/base/z"])
    #expect(sent.allSatisfy { $0.fields["X-Flags"] == "1000010" })
    #expect(sent[0].body == Array("username=foo%40bar.baz".utf8) && sent[1].url.query == "username=foo%40bar.baz")
  }

  @Test("a builder is a value: what is made of a copy changes nothing that was made before")
  func value() {
    let base = ResourceRequestBuilder().setPath("x").setHeaders(["A": "1"])
    var copy = base
    copy.path = "y"
    copy.headers.append("A", "2")
    #expect(base.build().path == "x" && base.build().headers == ["A": "1"])
    #expect(copy.build().path == "y" && copy.build().headers == ["A": "1", "A": "2"])
    #expect(copy.setPath("z").path == "z" && copy.path == "y")
  }

  @Test(
    "a method that is no token or is never sent is method_not_allowed, also one that only looks like another",
    arguments: ["", "TRACE", "CONNECT", "track", "GET /x", "G\u{415}T", "po\u{17f}t", "GET\u{301}"])
  func otherMethods(method: String) async throws {
    let engine = Engine { _, _ in .status(204) }
    let error = await #expect(throws: ResourceError.self) {
      try await engine.fetcher.fetch(ResourceRequest(path: "x", method: method), from: .testing(authentication: .none))
    }
    #expect(error?.code == .methodNotAllowed && engine.transport.requests.isEmpty)
  }

  static let malformed: [(ResourceRequest, ErrorCode, String?)] = [
    (ResourceRequestBuilder().setPath("x").setMethod("A B").build(), .methodNotAllowed, "/method"),
    (ResourceRequestBuilder().setPath("x").setMethod("").build(), .methodNotAllowed, "/method"),
    (ResourceRequest(path: "x", headers: ["Authorization": "Bearer mine"]), .invalidHeaders, "/headers/Authorization"),
    (ResourceRequest(path: "x", headers: ["user-agent": "mine"]), .invalidHeaders, "/headers/user-agent"),
    (ResourceRequest(path: "x", headers: ["X": "a\r\nHost: evil.test"]), .invalidHeaders, "/headers/X"),
    (ResourceRequest(path: "../admin"), .invalidURL, "/path"),
    (ResourceRequest(path: "//evil.test/x"), .invalidURL, "/path"),
    (ResourceRequest(path: "http://api.test/base/x"), .invalidURL, "/path"),
    (ResourceRequest(path: "https://evil.test/x"), .originNotAllowed, "/path"),
    (
      ResourceRequestFactory.makeMultipartResourceRequest(path: "x", method: .put, multipartData: [part]),
      .invalidParams,
      "/multipart"
    ),
    (ResourceRequestFactory.makeMultipartResourceRequest(path: "x", multipartData: []), .invalidParams, "/multipart"),
    (
      ResourceRequestBuilder().setPath("x").setMethod(.post).setBody([]).setMultipartData([part]).build(),
      .invalidParams,
      "/multipart"
    ),
    (
      ResourceRequestFactory.makeMultipartResourceRequest(
        path: "x", multipartData: [part, MultipartPart(name: "", data: [])]), .invalidParams, "/multipart/1/name"
    ),
    (
      ResourceRequestFactory.makeMultipartResourceRequest(
        path: "x", multipartData: [MultipartPart(name: "a", mimeType: "a\r\nb", data: [])]), .invalidHeaders,
      "/multipart/0/mimeType"
    ),
  ]

  @Test(
    "a malformed request has its code and path, in both forms, and nothing is sent",
    arguments: malformed)
  func faults(row: (ResourceRequest, ErrorCode, String?)) async throws {
    let engine = Engine { _, _ in .status(204) }
    let client = DeviceClient(fetcher: engine.fetcher, server: try .testing())
    let error = await #expect(throws: ResourceError.self) { try await client.sendAuthenticatedRequest(row.0) }
    #expect(error?.code == row.1 && error?.path?.jsonPointer == row.2 && error?.outcome == .notSent)
    let outcomes = Outcomes()
    let task = client.sendUnauthenticatedRequest(row.0) { outcomes.take($0) }
    let reported = await outcomes.only?.failure
    #expect(reported?.code == row.1 && reported?.path?.jsonPointer == row.2)
    #expect(task.state == .completed && task.error?.code == row.1 && task.response == nil)
    #expect(engine.transport.requests.isEmpty)
  }
}
