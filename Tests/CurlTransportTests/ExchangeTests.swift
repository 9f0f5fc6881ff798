import CurlTransport
import HTTPMessages
import PosternSupport
import Testing

@Suite("Exchanges", .timeLimit(.minutes(3)))
struct ExchangeTests {
  @Test("status, reason, fields and body arrive as the server sent them")
  func response() async throws {
    let wire = "HTTP/1.1 418 Short and stout\r\nA: 1\r\nb: 2\r\nA: 3\r\nContent-Length: 3\r\n\r\ntea"
    try await withServer {
      $0.serve { _ in wire }
    } _: { server, transport in
      let response = try await transport.send(server.url())
      #expect(response.status == 418)
      #expect(response.reason == "Short and stout")
      #expect(response.fields.lines.map { "\($0.name)=\($0.value)" } == ["A=1", "b=2", "A=3", "Content-Length=3"])
      #expect(response.text == "tea")
    }
  }

  @Test("the caller's fields go out exactly as given, and nothing else does but framing and negotiation")
  func fieldsOnTheWire() async throws {
    try await withServer {
      $0.serve { _ in ok() }
    } _: { server, transport in
      let given = [
        ("X-Order", "1"), ("authorization", "Bearer x"), ("X-Order", "2"), ("X-Empty", ""), ("X-Blank", "  "),
        ("x-ORDER", "3;,\"q\""),
      ]
      _ = try await transport.send("GET", server.url(), fields: given)
      let request = try #require(server.requests.first)
      #expect(
        request.fields == [
          "Host: 127.0.0.1:\(server.port)", "Accept-Encoding: gzip, deflate",
          "X-Order: 1", "authorization: Bearer x", "X-Order: 2", "X-Empty:", "X-Blank:", "x-ORDER: 3;,\"q\"",
        ])
    }
  }

  @Test("what belongs to framing cannot be set twice")
  func framingFields() async throws {
    try await withServer {
      $0.serve { _ in ok() }
    } _: { server, transport in
      let given = [
        ("Host", "evil.example"), ("content-length", "1000"), ("Transfer-Encoding", "chunked"),
        ("Expect", "100-continue"),
        ("ACCEPT-ENCODING", "compress"),
      ]
      _ = try await transport.send("POST", server.url(), fields: given, body: Array("abc".utf8))
      let request = try #require(server.requests.first)
      #expect(
        request.fields == [
          "Host: 127.0.0.1:\(server.port)", "Accept-Encoding: gzip, deflate", "Content-Length: 3",
        ])
      #expect(request.body == Array("abc".utf8))
    }
  }

  struct Sent: Sendable, CustomTestStringConvertible {
    let method: String
    let body: String?
    let length: [String]
    var testDescription: String { "\(method) with \(body.map { "a body of \($0.utf8.count)" } ?? "no body")" }
  }

  @Test(
    "each method goes out under its own name, with the body given, and with a length where one is due",
    arguments: [
      Sent(method: "GET", body: nil, length: []), Sent(method: "GET", body: "query", length: ["5"]),
      Sent(method: "POST", body: "form", length: ["4"]), Sent(method: "POST", body: "", length: ["0"]),
      Sent(method: "POST", body: nil, length: ["0"]), Sent(method: "PUT", body: "whole", length: ["5"]),
      Sent(method: "PUT", body: nil, length: ["0"]), Sent(method: "PATCH", body: "part", length: ["4"]),
      Sent(method: "PATCH", body: nil, length: ["0"]), Sent(method: "DELETE", body: nil, length: []),
      Sent(method: "DELETE", body: "why", length: ["3"]), Sent(method: "OPTIONS", body: nil, length: []),
      Sent(method: "HEAD", body: nil, length: []), Sent(method: "HEAD", body: "", length: []),
      Sent(method: "PROPFIND", body: "<xml/>", length: ["6"]), Sent(method: "get", body: nil, length: []),
    ])
  func methods(sent: Sent) async throws {
    try await withServer {
      $0.serve { $0.method == "HEAD" ? "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n" : ok("ok") }
    } _: { server, transport in
      // Twice, with another shape between: nothing of one request may stick to the handle for the next.
      for _ in 0..<2 {
        let response = try await transport.send(sent.method, server.url(), body: sent.body.map { Array($0.utf8) })
        #expect(response.text == (sent.method == "HEAD" ? "" : "ok"))
        _ = try await transport.send("POST", server.url("/other"), fields: [("Content-Type", "a/b")], body: [1, 2])
      }
      let requests = server.requests.filter { $0.target == "/" }
      #expect(requests.count == 2)
      for request in requests {
        #expect(request.line == "\(sent.method) / HTTP/1.1")
        #expect(request.body == Array((sent.body ?? "").utf8))
        #expect(request.values(of: "content-length") == sent.length)
        #expect(request.values(of: "content-type") == [])
        #expect(request.values(of: "expect") == [])
      }
    }
  }

  @Test(
    "a request that HTTP cannot carry is rejected before a byte leaves",
    arguments: [
      ("GE T", "A", "1"), ("", "A", "1"), ("GET\r\nX: y", "A", "1"), ("GET", "A B", "1"), ("GET", "", "1"),
      ("GET", "A:", "1"),
      ("GET", "A", "1\r\nEvil: yes"), ("GET", "A", "x\0y"), ("GET", "A\r\nB", "1"),
    ])
  func unsendable(method: String, name: String, value: String) async throws {
    try await withServer {
      $0.serve { _ in ok() }
    } _: { server, transport in
      let error = try await transport.failure(method, server.url(), fields: [(name, value)])
      #expect(error?.code == .protocolError)
      #expect(error?.outcome == .notSent)
      #expect(error.map { !$0.detail.contains("Evil") } == true)
      #expect(server.accepted == 0)
    }
  }

  @Test("HEAD with a body is rejected instead of losing it")
  func headWithBody() async throws {
    try await withServer {
      $0.serve { _ in ok() }
    } _: { server, transport in
      let error = try await transport.failure("HEAD", server.url(), body: [1])
      #expect(error?.outcome == .notSent)
      #expect(server.accepted == 0)
    }
  }

  @Test("plain http needs the option")
  func plainHTTP() async throws {
    try await withServer {
      $0.serve { _ in ok() }
    } _: { server, transport in
      let error = try await transport.failure(server.url(), options: .testing { $0.access.plainHTTP = PlainHTTPRule() })
      #expect(error == TransportError(code: .invalidURL, outcome: .notSent, detail: ""))
      #expect(server.accepted == 0)
    }
  }

  @Test("path and query go out as they are", arguments: ["/a%2Fb;p=1?x=%20&y=%2B+c", "/", "/%C3%BC?", "/a//b/?q=(1)"])
  func target(path: String) async throws {
    try await withServer {
      $0.serve { _ in ok() }
    } _: { server, transport in
      let url = try HTTPURL(server.url(path))
      _ = try await transport.send(HTTPRequest(method: "GET", url: url), options: .testing())
      #expect(server.requests.first?.target == "\(url.path)\(url.query.map { "?\($0)" } ?? "")")
    }
  }

  @Test(
    "redirects, challenges and empty responses are returned as they are",
    arguments: [204, 301, 304, 307, 401, 407, 503])
  func statusIsAResult(status: Int) async throws {
    let wire =
      "HTTP/1.1 \(status) X\r\nLocation: /elsewhere\r\nWWW-Authenticate: Basic realm=x\r\n"
      + "Proxy-Authenticate: Basic realm=x\r\n"
      + "Set-Cookie: a=b\r\n\(status == 204 || status == 304 ? "" : "Content-Length: 0\r\n")\r\n"
    try await withServer {
      $0.serve { _ in wire }
    } _: { server, transport in
      for _ in 0..<2 {
        let response = try await transport.send(server.url())
        #expect(response.status == status)
        #expect(response.fields["Location"] == "/elsewhere")
      }
      #expect(server.requests.map(\.target) == ["/", "/"])
      #expect(server.requests.allSatisfy { $0.values(of: "cookie") == [] })
    }
  }

  struct Framing: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let wire: String
    var text = "hello"
  }

  @Test(
    "every framing of a body gives the same body, and neither interim responses nor trailers show",
    arguments: [
      Framing(testDescription: "length", wire: ok("hello", fields: "F: 1\r\n")),
      Framing(testDescription: "until the end", wire: "HTTP/1.1 200 OK\r\nF: 1\r\n\r\nhello"),
      Framing(testDescription: "HTTP/1.0", wire: "HTTP/1.0 200 OK\r\nF: 1\r\n\r\nhello"),
      Framing(
        testDescription: "chunks with extensions",
        wire: "HTTP/1.1 200 OK\r\nF: 1\r\nTransfer-Encoding: chunked\r\n\r\n2;x=y\r\nhe\r\n003\r\nllo\r\n0\r\n\r\n"),
      Framing(
        testDescription: "chunks and trailers",
        wire:
          "HTTP/1.1 200 OK\r\nF: 1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nT: late\r\nF: 2\r\n\r\n"
      ),
      Framing(
        testDescription: "interim responses",
        wire: "HTTP/1.1 100 Continue\r\nF: 0\r\n\r\nHTTP/1.1 103 Early Hints\r\nT: early\r\n\r\n"
          + ok("hello", fields: "F: 1\r\n")),
      Framing(testDescription: "line feeds alone", wire: "HTTP/1.1 200 OK\nF: 1\nContent-Length: 5\n\nhello"),
      Framing(testDescription: "empty", wire: ok("", fields: "F: 1\r\n"), text: ""),
    ])
  func framing(framing: Framing) async throws {
    try await withServer {
      _ = $0.readRequest()
      $0.send(framing.wire)
    } _: { server, transport in
      let response = try await transport.send(server.url())
      #expect(response.status == 200)
      #expect(response.text == framing.text)
      #expect(response.fields.values(of: "F") == ["1"])
      #expect(response.fields["T"] == nil)
    }
  }

  @Test(
    "a large body goes and comes unchanged, without waiting for a permission", arguments: ["POST", "PUT", "DELETE"])
  func largeBodies(method: String) async throws {
    let body = (0..<5_000_000).map { UInt8(truncatingIfNeeded: $0 &* 2_654_435_761 >> 13) }
    try await withServer { connection in
      while let request = connection.readRequest() {
        connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(request.body.count)\r\n\r\n")
        connection.send(request.body)
      }
    } _: { server, transport in
      let response = try await transport.send(method, server.url(), body: body)
      #expect(response.body == body)
      #expect(server.requests.first?.values(of: "expect") == [])
    }
  }

  @Test("many fields and large ones go out whole")
  func manyFields() async throws {
    let large = String(repeating: "x", count: 200_000)
    let fields = (0..<1500).map { ("X-\($0)", "value \($0)") } + [("Large", large)]
    try await withServer {
      $0.serve { _ in ok() }
    } _: { server, transport in
      for round in 0..<2 {
        _ = try await transport.send("GET", server.url("/\(round)"), fields: fields)
        _ = try await transport.send("GET", server.url("/small"), fields: [("A", "1")])
      }
      let expected = fields.map { "\($0): \($1)" }
      for request in server.requests where request.target != "/small" {
        #expect(request.fields.suffix(1501) == expected[...])
      }
      #expect(server.requests.last?.fields.last == "A: 1")
    }
  }

  @Test("timing: a fresh connection takes time, a kept one takes none, and the parts fit into the whole")
  func timing() async throws {
    try await withServer {
      $0.serve { _ in ok("x") }
    } _: { server, transport in
      let first = try await transport.send(server.url()).timing
      let second = try await transport.send(server.url()).timing
      #expect(first.connect > .zero)
      #expect(second.connect == .zero)
      for timing in [first, second] {
        #expect(timing.queued > .zero && timing.queued <= timing.total)
        #expect(timing.firstByte > timing.queued && timing.firstByte <= timing.total)
      }
    }
  }
}

extension CurlTransport {
  func send(_ url: String, options: TransferOptions = .testing()) async throws -> HTTPResponse {
    try await send("GET", url, options: options)
  }

  func failure(_ url: String, options: TransferOptions = .testing()) async throws -> TransportError? {
    try await failure("GET", url, options: options)
  }
}
