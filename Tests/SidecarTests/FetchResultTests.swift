import HTTPMessages
import PosternJSON
import PosternProtocol
import PosternTestSupport
import Testing

@Suite("fetchResource: the response on the wire")
struct FetchResultTests {
  private static func fetch(_ response: HTTPResponse) async throws -> JSONValue? {
    let bench = try SidecarBench(CallTests.open) { _, _ async throws(TransportError) in response }
    return await bench.connect().call("fetchResource", ["path": "x"])["result"]
  }

  @Test("the answer is the documented result, member by member")
  func documented() async throws {
    let fields = HTTPFields([.init(name: "Content-Type", value: "text/plain")])
    let response = HTTPResponse(status: 404, reason: "Not Found", fields: fields, body: Array("no".utf8))
    let json = try #require(try await Self.fetch(response))
    let result = try JSONValueDecoder().decode(FetchResource.Result.self, from: json)
    #expect(result.status == 404)
    #expect(result.reason == "Not Found")
    #expect(result.body?.text == "no")
    #expect(result.attempts == 1)
    #expect(try JSONValueEncoder().encode(result) == json)
  }

  @Test(
    "a body is text only when its type is textual and its bytes are UTF-8",
    arguments: [
      ("application/json", [UInt8]("{}".utf8), true), ("application/json; charset=utf-8", Array("é".utf8), true),
      ("application/problem+json", Array("{}".utf8), true), ("text/html", Array("<p>".utf8), true),
      ("text/plain", [0xFF, 0xFE], false), ("application/octet-stream", Array("abc".utf8), false),
      ("text/plain; charset=iso-8859-1", Array("é".utf8), false), ("text/plain; charset=iso-8859-1", [0x61], true),
      ("text/plain; charset=utf-16", [0x61, 0x62], false), ("application/json; charset=cp1252", [0xC3, 0xA9], false),
      ("image/png", [1, 2], false), ("", Array("abc".utf8), false), ("image/png", [], true), ("text/plain", [0], true),
    ])
  func textual(type: String, body: [UInt8], isText: Bool) async throws {
    let fields = HTTPFields(type.isEmpty ? [] : [.init(name: "content-type", value: type)])
    let result = try await Self.fetch(HTTPResponse(status: 200, fields: fields, body: body))
    #expect((result?["body"] != nil) == isText)
    #expect((result?["bodyBase64"] != nil) == !isText)
  }

  @Test(
    "the delay before a retry is returned with 429 and 503 only",
    arguments: [(429, true), (503, true), (500, false), (200, false)])
  func retryAfter(row: (Int, Bool)) async throws {
    let fields = HTTPFields([.init(name: "Retry-After", value: "7")])
    let json = try #require(try await Self.fetch(HTTPResponse(status: row.0, fields: fields)))
    #expect(json["retryAfterMs"] == (row.1 ? 7000 : nil))
    #expect(try JSONValueDecoder().decode(FetchResource.Result.self, from: json).retryAfterMs == (row.1 ? 7000 : nil))
  }

  @Test("fields of one name, which a server may send by the hundred thousand, take time in the square of their number")
  func manyHeaders() async throws {
    let lines = (0..<200_000).map { HTTPFields.Field(name: $0 % 2 == 0 ? "A" : "a", value: "\($0)") }
    let result = try await Self.fetch(HTTPResponse(status: 204, fields: HTTPFields(lines)))
    #expect(result?["headers"]?["a"]?.arrayValue?.count == 200_000)
  }

  @Test("headers keep repeats and order under lower-case names")
  func headers() async throws {
    let fields = HTTPFields([
      .init(name: "Set-Cookie", value: "a=1"), .init(name: "X-B", value: "2"), .init(name: "set-cookie", value: "b=2"),
    ])
    let result = try await Self.fetch(HTTPResponse(status: 204, fields: fields))
    #expect(result?["headers"] == ["set-cookie": ["a=1", "b=2"], "x-b": ["2"]])
    #expect(result?["headers"]?.objectValue?.names == ["set-cookie", "x-b"])
  }

  @Test("a large body survives the writer's own escaping byte for byte")
  func large() async throws {
    let text = String(repeating: "line \"quoted\" \\ \u{1} \t é😀\r\n", count: 5000)
    let fields = HTTPFields([.init(name: "content-type", value: "text/plain")])
    let result = try await Self.fetch(HTTPResponse(status: 200, fields: fields, body: Array(text.utf8)))
    #expect(result?["body"] == .string(text))
  }
}
