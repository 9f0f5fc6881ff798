import Playground
import PosternJSON
import Testing

@Suite struct BoundsTests {
  @Test(
    "A body of exactly the limit is taken, one byte more is a 413 that its sender gets to see",
    arguments: [0, 1, 3 << 20])
  func body(excess: Int) async throws {
    try await Upstream.run { upstream in
      let body = [UInt8](repeating: 0x61, count: (1 << 20) + excess)
      let response = try await upstream.send("POST", "/open/echo", body: body)
      #expect(response.status == (excess == 0 ? 200 : 413))
    }
  }

  @Test("A sender that waits for 100 Continue gets it before its body is read")
  func expectContinue() async throws {
    try await Upstream.run { upstream in
      let head =
        "POST /open/echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n"
      let received = try await RawHTTP.exchange(port: upstream.port, Array((head + "hi").utf8))
      let responses = try RawHTTP.responses(in: received)
      #expect(responses.map(\.status) == [100, 200])
      #expect(responses.last?.json["body"] == "hi")
    }
  }

  @Test(
    "What is no request, or has too much of a header block, is answered with 400 and the end of the connection",
    arguments: [
      ("nonsense", "nonsense"),
      ("negative length", "GET /open/echo HTTP/1.1\r\nContent-Length: -1"),
      ("overflowing length", "GET /open/echo HTTP/1.1\r\nContent-Length: 99999999999999999999999"),
      ("two framings", "GET /open/echo HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked"),
      ("huge field", "GET /open/echo HTTP/1.1\r\nX: " + String(repeating: "a", count: 40_000)),
      ("many fields", "GET /open/echo HTTP/1.1" + String(repeating: "\r\nX: a", count: 200)),
    ].map(Malformed.init))
  func notARequest(_ given: Malformed) async throws {
    try await Upstream.run { upstream in
      let received = try await RawHTTP.exchange(port: upstream.port, Array((given.text + "\r\n\r\n").utf8))
      #expect(try RawHTTP.responses(in: received).map(\.status) == [400])
      #expect(try await upstream.send("GET", "/open/echo").status == 200)
    }
  }

  struct Malformed: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let text: String
  }

  @Test(
    "Paths are matched as sent: nothing is resolved, nothing unknown answered, other methods named",
    arguments: [
      ("GET", "/", 404), ("GET", "/open", 404), ("GET", "/open/", 404), ("GET", "/resource/../open/echo", 404),
      ("GET", "/open/status/", 404), ("GET", "/open/%zz", 400), ("OPTIONS", "*", 400), ("DELETE", "/oidc/jwks", 405),
      ("GET", "/open/%65cho", 200),
    ])
  func paths(method: String, path: String, status: Int) async throws {
    try await Upstream.run { upstream in
      let response = try await upstream.send(method, path)
      #expect(response.status == status)
    }
  }

  @Test("Requests sent in one go are answered in order")
  func pipelining() async throws {
    try await Upstream.run { upstream in
      let text = (0..<20).map {
        "GET /open/echo/\($0) HTTP/1.1\r\nHost: x\r\n\($0 == 19 ? "Connection: close\r\n" : "")\r\n"
      }
      let received = try await RawHTTP.exchange(port: upstream.port, Array(text.joined().utf8))
      let paths = try RawHTTP.responses(in: received).map { $0.json["path"]?.stringValue }
      #expect(paths == (0..<20).map { "/open/echo/\($0)" })
    }
  }

  @Test("Many callers at once all get their own token", .timeLimit(.minutes(1)))
  func concurrency() async throws {
    try await Upstream.run { upstream in
      let tokens = try await withThrowingTaskGroup(of: String.self) { group in
        for _ in 0..<64 { group.addTask { try await upstream.token() } }
        return try await group.reduce(into: Set<String>()) { $0.insert($1) }
      }
      #expect(tokens.count == 64)
      #expect(try await upstream.counter("tokensIssued") == 64)
    }
  }
}
