import AuthEngine
import EngineTestSupport
import HTTPMessages
import PosternJSON
import PosternSupport
import PosternTestSupport
import Testing

/// Multipart bodies: names cannot break out of their quotes, whatever they hold.
@Suite(.bothWays) struct MultipartTests {
  private func sent(_ request: ResourceRequest) async throws -> (type: String, body: String) {
    let engine = Engine { _, _ in .status(204) }
    _ = try await engine.fetcher.fetch(request, from: .testing(authentication: .none))
    let sent = try #require(engine.transport.requests.first)
    return (sent.fields["Content-Type"] ?? "", String(decoding: sent.body ?? [], as: UTF8.self))
  }

  private func request(_ parts: [MultipartPart], _ parameters: JSONObject? = nil) -> ResourceRequest {
    ResourceRequest(path: "x", method: "post", parameters: parameters, multipart: parts)
  }

  @Test("parameters are plain fields first, then the parts in order, each with its type; the boundary closes the body")
  func whole() async throws {
    let (type, body) = try await sent(
      request(
        [
          MultipartPart(name: "file", fileName: "a.txt", data: Array("one".utf8)),
          MultipartPart(name: "meta", mimeType: "application/json", data: Array("{}".utf8)),
          MultipartPart(name: "plain", data: []),
        ], ["z": 1, "a": ["x", nil]]))
    let boundary = try #require(type.split(separator: "=").last)
    #expect(type == "multipart/form-data; boundary=\(boundary)")
    let expected =
      [
        "name=\"a[]\"\r\n\r\nx", "name=\"a[]\"\r\n\r\n", "name=\"z\"\r\n\r\n1",
        "name=\"file\"; filename=\"a.txt\"\r\nContent-Type: application/octet-stream\r\n\r\none",
        "name=\"meta\"\r\nContent-Type: application/json\r\n\r\n{}", "name=\"plain\"\r\n\r\n",
      ].map { "--\(boundary)\r\nContent-Disposition: form-data; \($0)\r\n" }.joined() + "--\(boundary)--\r\n"
    #expect(body == expected)
  }

  @Test(
    "no name ends its quotes or its line",
    arguments: [
      (#"a"; filename="evil"#, "a%22; filename=%22evil"), ("a\r\nX-Evil: 1", "a%0D%0AX-Evil: 1"),
      ("a\nb", "a%0D%0Ab"), ("a\rb", "a%0D%0Ab"), ("é€", "é€"), (#"back\slash"#, #"back\slash"#), ("%22", "%22"),
    ])
  func names(name: String, escaped: String) async throws {
    let (_, body) = try await sent(request([MultipartPart(name: name, fileName: name, data: [])]))
    #expect(body.contains("form-data; name=\"\(escaped)\"; filename=\"\(escaped)\"\r\n"))
  }

  @Test("two bodies never have the same boundary")
  func boundary() async throws {
    let part = MultipartPart(name: "a", data: [])
    #expect(try await sent(request([part])).type != sent(request([part])).type)
  }

  static let rejected: [(String, ResourceRequest, String)] = {
    let part = MultipartPart(name: "a", data: [])
    let typed = ResourceRequest(
      path: "x", method: "POST", multipart: [part], headers: ["content-type": "multipart/form-data; boundary=x"])
    return [
      ("PUT", ResourceRequest(path: "x", method: "PUT", multipart: [part]), "invalid_params"),
      ("no parts", ResourceRequest(path: "x", method: "POST", multipart: []), "invalid_params"),
      ("a body as well", ResourceRequest(path: "x", method: "POST", body: [1], multipart: [part]), "invalid_params"),
      ("its own type", typed, "invalid_headers"),
      (
        "a line break in the type",
        ResourceRequest(
          path: "x", method: "POST", multipart: [MultipartPart(name: "a", mimeType: "text/plain\r\nX: 1", data: [])]),
        "invalid_headers"
      ),
      (
        "no name", ResourceRequest(path: "x", method: "POST", multipart: [MultipartPart(name: "", data: [])]),
        "invalid_params"
      ),
      (
        "NUL in a name",
        ResourceRequest(path: "x", method: "POST", multipart: [MultipartPart(name: "a\u{0}", data: [])]),
        "invalid_params"
      ),
    ]
  }()

  @Test("values that would make another request than stated are rejected", arguments: rejected)
  func rejections(row: (String, ResourceRequest, String)) async throws {
    let engine = Engine { _, _ in .status(204) }
    let error = await #expect(throws: ResourceError.self) {
      try await engine.fetcher.fetch(row.1, from: .testing(authentication: .none))
    }
    #expect(error?.code.reason == row.2 && engine.transport.requests.isEmpty)
  }
}
