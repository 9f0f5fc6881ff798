import Playground
import PlaygroundTestSupport
import PosternJSON
import Testing

@Suite struct OpenEndpointTests {
  @Test("Echo shows method, path, query, headers and body as they were sent, and of credentials only a hash")
  func echo() async throws {
    try await Upstream.run { upstream in
      let response = try await upstream.send(
        "PATCH", "/open/echo/a%2Fb/../c?x=1&x=&y",
        [("X-Two", "1"), ("x-two", "2"), ("Authorization", "Bearer very-secret")], body: Array("grüß".utf8))
      let json = response.json
      #expect(json["method"] == "PATCH")
      #expect(json["path"] == "/open/echo/a%2Fb/../c")
      #expect(json["query"] == "x=1&x=&y")
      #expect(json["parameters"] == [["x", "1"], ["x", ""], ["y", ""]])
      #expect(json["headers"]?["x-two"] == ["1", "2"])
      #expect(json["body"] == "grüß")
      #expect(json["headers"]?["authorization"] == ["Bearer sha256:b6441336"])
      #expect(!response.text.contains("very-secret"))
    }
  }

  @Test("A body that is no UTF-8 is echoed in base64")
  func binaryEcho() async throws {
    try await Upstream.run { upstream in
      let json = try await upstream.send("PUT", "/open/echo", body: [0xff, 0x00]).json
      #expect(json["bodyBase64"] == "/wA=")
      #expect(json["body"] == nil)
    }
  }

  @Test(
    "Statuses come as requested; those that cannot be sent are rejected",
    arguments: [
      ("200", 200), ("204", 204), ("304", 304), ("418", 418), ("599", 599), ("100", 400), ("600", 400), ("-1", 400),
      ("99999999999999999999", 400),
    ])
  func status(requested: String, got: Int) async throws {
    try await Upstream.run { upstream in
      let response = try await upstream.send("GET", "/open/status/" + requested)
      #expect(response.status == got)
      if got == 204 || got == 304 { #expect(response["content-length"].isEmpty) }
    }
  }

  @Test(
    "Redirects name the target as given; a target that would break the header block is rejected",
    arguments: [
      ("to=/open/echo", 302, "/open/echo"),
      ("to=https%3A%2F%2Felsewhere.example%2F%3Fq&status=307", 307, "https://elsewhere.example/?q"),
      ("to=/a%0d%0aX:1", 400, nil),
      ("to=/a&status=200", 400, nil),
      ("status=302", 400, nil),
    ] as [(String, Int, String?)])
  func redirect(query: String, status: Int, location: String?) async throws {
    try await Upstream.run { upstream in
      let response = try await upstream.send("GET", "/open/redirect?" + query)
      #expect(response.status == status)
      #expect(response["location"].first == location)
    }
  }

  @Test(
    "A chain of redirects gets shorter by one at each and ends",
    arguments: [("0", 200, nil), ("1", 302, "0"), ("11", 302, "10"), ("-1", 400, nil), ("x", 400, nil)]
      as [(String, Int, String?)])
  func redirects(rest: String, status: Int, location: String?) async throws {
    try await Upstream.run { upstream in
      let response = try await upstream.send("GET", "/open/redirects/" + rest)
      #expect(response.status == status)
      #expect(response["location"].first == location)
    }
  }

  @Test("Bytes count up to 250 over and over across the borders of chunks", arguments: [0, 1, 251, 200_000])
  func bytes(length: Int) async throws {
    try await Upstream.run { upstream in
      let response = try await upstream.send("GET", "/open/bytes/\(length)")
      #expect(response["content-length"] == [String(length)])
      #expect(response.body == (0..<length).map { UInt8($0 % 251) })
      let head = try await upstream.send("HEAD", "/open/bytes/\(length)")
      #expect(head["content-length"] == [String(length)])
      #expect(head.body.isEmpty)
      let chunked = try await upstream.send("GET", "/open/bytes/\(length)?chunked=true")
      #expect(chunked["transfer-encoding"] == ["chunked"])
      #expect(chunked["content-length"].isEmpty)
    }
  }

  @Test("Repeated fields come one by one and in order")
  func headers() async throws {
    try await Upstream.run { upstream in
      let response = try await upstream.send("GET", "/open/headers")
      #expect(response["x-repeated"] == ["one", "two", "three"])
      #expect(response["set-cookie"].count == 2)
      #expect(response["x-empty"] == [""])
    }
  }

  @Test(
    "Text comes in the charset it names",
    arguments: [
      ("utf-8", [0x47, 0x72, 0xc3, 0xbc]), ("iso-8859-1", [0x47, 0x72, 0xfc]), ("utf-16", [0xfe, 0xff, 0x00, 0x47]),
    ] as [(String, [UInt8])])
  func text(charset: String, start: [UInt8]) async throws {
    try await Upstream.run { upstream in
      let response = try await upstream.send("GET", "/open/text?charset=" + charset)
      #expect(response["content-type"] == ["text/plain; charset=" + charset])
      #expect(Array(response.body.prefix(start.count)) == start)
      #expect(try await upstream.send("GET", "/open/text?charset=ebcdic").status == 400)
    }
  }

  @Test("A slow answer whose caller hangs up is abandoned and counted, not slept to its end", .timeLimit(.minutes(1)))
  func abandoned() async throws {
    try await Upstream.run { upstream in
      let clock = upstream.clock
      try await RawHTTP.abandon(port: upstream.port, "GET /open/slow?ms=60000 HTTP/1.1\r\nHost: localhost\r\n\r\n") {
        clock.sleeperCount == 1
      }
      while clock.sleeperCount > 0 { await Task.yield() }
      while try await upstream.counter("abandonedRequests") != 1 { await Task.yield() }
    }
  }
}
