import Testing

@testable import LocalServer

@Suite("Both framings over a real socket", .timeLimit(.minutes(1)))
struct FramingOverSocketTests {
  @Test("stream: one compact line per answer, whatever is between the texts; the last needs no line feed")
  func stream() async throws {
    try await EchoServer.run { echo in
      let client = try echo.client()
      try await client.send("  {\"a\":1}[2]\r\n\n{\n \"b\": 3\n}\n")
      #expect(try await client.line() == "{\"a\":1}")
      #expect(try await client.line() == "[2]")
      #expect(
        try await [client.line(), client.line(), client.line()] == ["{", " \"b\": 3", "}"], "the echo is verbatim")
      try await client.send("[4]")
      #expect(try await client.line() == "[4]", "complete when its brackets close")
      client.halfClose()
      #expect(try await client.rest() == "")
    }
  }

  @Test("headers: answered in headers, to the byte")
  func headers() async throws {
    try await EchoServer.run { echo in
      let client = try echo.client()
      try await client.send(
        "Content-Length: 7\r\n\r\n{\"a\":1}content-length: 2\r\nContent-Type: a; charset=utf8\r\n\r\n{}")
      client.halfClose()
      #expect(try await client.rest() == "Content-Length: 7\r\n\r\n{\"a\":1}Content-Length: 2\r\n\r\n{}")
    }
  }

  @Test("both framings live side by side on one socket")
  func sideBySide() async throws {
    try await EchoServer.run { echo in
      let (stream, headers) = (try echo.client(), try echo.client())
      try await stream.send("[1]\n")
      try await headers.send("Content-Length: 3\r\n\r\n[2]")
      #expect(try await stream.line() == "[1]")
      #expect(try await headers.bytes(24) == Array("Content-Length: 3\r\n\r\n[2]".utf8))
      #expect(echo.connection(0).framing != echo.connection(1).framing)
    }
  }

  @Test("byte by byte is the same as at once", arguments: ["{\"a\":[1,\"\\\"}\"]}\n", "Content-Length: 4\r\n\r\n[12]"])
  func byteByByte(input: String) async throws {
    try await EchoServer.run { echo in
      let client = try echo.client()
      for byte in input.utf8 { try await client.send([byte]) }
      client.halfClose()
      #expect(try await client.rest() == input)
    }
  }

  @Test(
    "any other first byte: one answer, then the end, without a reset even with more input unread",
    arguments: [
      "GET / HTTP/1.1\r\n", "\"text\"\n", "\u{FEFF}{}\n",
    ])
  func unusableFirstByte(input: String) async throws {
    try await EchoServer.run { echo in
      let client = try echo.client()
      try await client.send(Array(input.utf8) + [UInt8](repeating: UInt8(ascii: "x"), count: 100_000))
      let answer = try await client.rest()
      #expect(answer.hasPrefix("{\"violation\":"))
      #expect(answer.hasSuffix("}\n"))
      client.close()
      #expect(await echo.log.first("closed") == "closed 1 requested")
    }
  }

  @Test("a malformed header block: one answer in headers, then the end")
  func malformedHeaderBlock() async throws {
    try await EchoServer.run { echo in
      let client = try echo.client()
      try await client.send("Content-Length: -1\r\n\r\n{}Content-Length: 2\r\n\r\n{}")
      let answer = try await client.rest()
      #expect(answer.hasPrefix("Content-Length: "))
      #expect(answer.hasSuffix("{\"violation\":\"\(HeaderBlock.Violation.contentLengthNotANumber.reason)\"}"))
    }
  }

  @Test("a malformed text costs its line, and the connection goes on")
  func malformed() async throws {
    try await EchoServer.run { echo in
      let client = try echo.client()
      try await client.send("{\"a\" 1} [lost]\n[1]\n")
      #expect(try await client.line()?.hasPrefix("{\"malformed\":") == true)
      #expect(try await client.line() == "[1]")
    }
  }

  @Test(
    "a message over the limit is answered once, discarded, and the connection goes on",
    arguments: [
      ("[\"\(String(repeating: "a", count: 300_000))\"]\n[1]\n", "{\"oversized\":1000}\n[1]\n"),
      (
        "Content-Length: 300000\r\n\r\n\(String(repeating: "a", count: 300_000))Content-Length: 3\r\n\r\n[1]",
        "Content-Length: 18\r\n\r\n{\"oversized\":1000}Content-Length: 3\r\n\r\n[1]"
      ),
    ])
  func oversized(input: String, expected: String) async throws {
    try await EchoServer.run {
      $0.limits.messageBytes = 1000
    } _: { echo in
      let client = try echo.client()
      try await client.send(input)
      client.halfClose()
      #expect(try await client.rest() == expected)
    }
  }

  @Test("nesting over the limit is malformed")
  func nesting() async throws {
    try await EchoServer.run {
      $0.limits.depth = 3
    } _: { echo in
      let client = try echo.client()
      try await client.send("[[[[]]]]\n[[[]]]\n")
      #expect(try await client.line()?.contains(JSONDefect.nesting.reason) == true)
      #expect(try await client.line() == "[[[]]]")
    }
  }

  @Test(
    "a text cut off by the half-close is malformed and still answered",
    arguments: [
      ("[1]\n{\"a\":", "[1]\n{\"malformed\":"), ("Content-Length: 9\r\n\r\n{}", "Content-Length: "),
    ])
  func cutOff(input: String, expected: String) async throws {
    try await EchoServer.run { echo in
      let client = try echo.client()
      try await client.send(input)
      client.halfClose()
      let answer = try await client.rest()
      #expect(answer.hasPrefix(expected))
      #expect(answer.contains("malformed"))
    }
  }

  @Test("16 MiB in one text come through whole, in both framings", arguments: [Framing.stream, .headers])
  func large(framing: Framing) async throws {
    try await EchoServer.run { echo in
      let client = try echo.client()
      let text = Array("[\"".utf8) + [UInt8](repeating: UInt8(ascii: "z"), count: (16 << 20) - 4) + Array("\"]".utf8)
      let frame = framing == .stream ? text + [0x0A] : Array("Content-Length: \(text.count)\r\n\r\n".utf8) + text
      try await client.send(frame)
      let answer = try await client.bytes(frame.count)
      #expect(answer == frame)
    }
  }

  @Test("a thousand texts in one write are all answered, in order, in groups of at most 32")
  func pipelined() async throws {
    try await EchoServer.run { echo in
      let client = try echo.client()
      let lines = (0..<1000).map { "[\($0)]\n" }.joined()
      try await client.send(lines)
      client.halfClose()
      #expect(try await client.rest() == lines)
      #expect(!echo.log.lines.contains("too many events"))
    }
  }

  @Test("a message sent right before the peer closes for good still arrives")
  func messageThenClose() async throws {
    try await EchoServer.run { echo in
      let client = try echo.client()
      try await client.send("[\"note\"]")
      client.close()
      await echo.log.first("note")
      await echo.log.first("closed 1")
    }
  }
}
