import CurlTransport
import Foundation
import HTTPMessages
import PosternSupport
import Testing

@Suite("Content codings", .timeLimit(.minutes(3)))
struct CodingTests {
  private static let text = String(repeating: "hello coded world, ", count: 8)

  /// `text` under each coding this libcurl must know.
  private static let coded = [
    "gzip": "H4sIAAAAAAACA8tIzcnJV0jOT0lNUSjPL8pJ0VHIGAxCAOyvRmWYAAAA",
    "x-gzip": "H4sIAAAAAAACA8tIzcnJV0jOT0lNUSjPL8pJ0VHIGAxCAOyvRmWYAAAA",
    "deflate": "eJzLSM3JyVdIzk9JTVEozy/KSdFRyBgMQgBSPDY5",
    "br": "G5cA+MVtbF353pdCQxA6RYQhQv46Kaay8L2IAA==",
    "zstd": "KLUv/SCY1QAAmGhlbGxvIGNvZGVkIHdvcmxkLCABAAVGzTA=",
    "gzip, gzip": "H4sIAAAAAAACA5Pv5mAAASbm0x5nT54M9zjn7+kbqHFe/5TnxcATEjxODG/Wu6XOAKoAANdiMXcqAAAA",
  ]

  private static func bytes(_ coding: String) -> [UInt8] {
    coded[coding].flatMap { Data(base64Encoded: $0) }.map { Array($0) } ?? []
  }

  private static func wire(_ coding: String, _ body: [UInt8]) -> [UInt8] {
    Array("HTTP/1.1 200 OK\r\nContent-Encoding: \(coding)\r\nContent-Length: \(body.count)\r\nA: 1\r\n\r\n".utf8) + body
  }

  @Test("each coding is undone, and then the fields that described it are gone", arguments: coded.keys.sorted())
  func undone(coding: String) async throws {
    try await withServer { connection in
      while connection.readRequest() != nil { connection.send(Self.wire(coding, Self.bytes(coding))) }
    } _: { server, transport in
      let response = try await transport.send(server.url())
      #expect(response.text == Self.text)
      #expect(response.fields.lines == [HTTPFields.Field(name: "A", value: "1")])
    }
  }

  @Test("identity is no coding: its fields stay")
  func identity() async throws {
    try await withServer {
      $0.serve { _ in ok("plain", fields: "Content-Encoding: identity\r\n") }
    } _: { server, transport in
      let response = try await transport.send(server.url())
      #expect(response.text == "plain")
      #expect(response.fields["Content-Length"] == "5")
      #expect(response.fields["Content-Encoding"] == "identity")
    }
  }

  @Test("where there is no body nothing was undone", arguments: [("HEAD", 200), ("GET", 304)])
  func noBody(method: String, status: Int) async throws {
    let wire = "HTTP/1.1 \(status) X\r\nContent-Encoding: gzip\r\nContent-Length: 42\r\n\r\n"
    try await withServer {
      $0.serve { _ in wire }
    } _: { server, transport in
      let response = try await transport.send(method, server.url(), options: .testing { $0.maxBodyBytes = 10 })
      #expect(response.fields["Content-Length"] == "42")
      #expect(response.fields["Content-Encoding"] == "gzip")
      #expect(response.body.isEmpty)
    }
  }

  @Test("a coded body may be longer on the wire than the bound of the decoded one")
  func boundIsOfDecodedBytes() async throws {
    let body = Self.bytes("gzip, gzip")
    try await withServer { connection in
      while connection.readRequest() != nil { connection.send(Self.wire("gzip", body)) }
    } _: { server, transport in
      // One layer only is declared: 60 bytes become 42.
      let exact = try await transport.send(server.url(), options: .testing { $0.maxBodyBytes = 42 })
      #expect(exact.body.count == 42 && body.count > 42)
      let error = try await transport.failure(server.url(), options: .testing { $0.maxBodyBytes = 41 })
      #expect(error == TransportError(code: .responseTooLarge, outcome: .replied, detail: ""))
    }
  }

  @Test("a bomb is stopped at the bound, not at its end")
  func bomb() async throws {
    let bomb = GzipBomb.bytes(decodingTo: 1 << 28)
    #expect(bomb.count < 2 << 20)
    try await withServer { connection in
      _ = connection.readRequest()
      connection.send(Self.wire("gzip", bomb))
    } _: { server, transport in
      let error = try await transport.failure(server.url(), options: .testing { $0.maxBodyBytes = 1 << 20 })
      #expect(error == TransportError(code: .responseTooLarge, outcome: .replied, detail: ""))
      #expect(transport.statistics().bodyBytesReceived < 1 << 20)
    }
  }

  struct Rubbish: Sendable, CustomTestStringConvertible {
    let coding: String
    let body: [UInt8]
    var testDescription: String { "\(body.count) bytes of \(coding)" }

    init(_ coding: String, _ text: String) {
      self.coding = coding
      body = Array(text.utf8)
    }

    init(_ coding: String, _ body: [UInt8]) {
      self.coding = coding
      self.body = body
    }
  }

  static let rubbish = [
    Rubbish("gzip", "this is no gzip"), Rubbish("deflate", "this is no deflate"), Rubbish("br", "no brotli at all"),
    Rubbish("zstd", "no zstd at all"),
    Rubbish("gzip", bytes("gzip").dropLast(4) + [9, 9, 9, 9]),
  ]

  @Test(
    "a body that was coded more than twice is decoded, which may take seconds a kilobyte",
    arguments: ["gzip, gzip, gzip", "gzip\r\nContent-Encoding: gzip, br", "gzip, identity, gzip,, zstd"])
  func layers(coding: String) async throws {
    try await withServer { connection in
      while connection.readRequest() != nil { connection.send(Self.wire(coding, Self.bytes("gzip"))) }
    } _: { server, transport in
      let error = try await transport.failure(server.url())
      #expect(error?.code == .responseTooLarge && error?.outcome == .replied)
    }
  }

  /// The codings that the sidecar decodes itself.
  static let cut = ["gzip", "x-gzip", "deflate", "gzip, gzip"]

  @Test("a body is handed out as whole though its coding was cut off, or an empty one is not", arguments: cut)
  func cutOff(coding: String) async throws {
    let whole = Self.bytes(coding)
    let body = Array(whole.dropLast(12))
    let chunk = Array("\(String(body.count, radix: 16))\r\n".utf8) + body + Array("\r\n0\r\n\r\n".utf8)
    let head = "HTTP/1.1 200 OK\r\nContent-Encoding: \(coding)\r\nTransfer-Encoding: chunked\r\n\r\n"
    let wires = [Self.wire(coding, body), Array(head.utf8) + chunk]
    try await withServer { connection in
      for wire in wires {
        guard connection.readRequest() != nil else { return }
        connection.send(wire)
      }
      guard connection.readRequest() != nil else { return }
      connection.send(Self.wire(coding, []))
    } _: { server, transport in
      for _ in wires {
        let error = try await transport.failure(server.url())
        #expect(error?.code == .protocolError && error?.outcome == .replied)
      }
      #expect(try await transport.send(server.url()).body.isEmpty)
      // The exchange itself went well: the connection is fit for the next.
      #expect(server.requests.count == 3)
    }
  }

  @Test("what cannot be decoded is the peer's fault, never a body", arguments: rubbish)
  func undecodable(rubbish: Rubbish) async throws {
    try await withServer { connection in
      while connection.readRequest() != nil { connection.send(Self.wire(rubbish.coding, rubbish.body)) }
    } _: { server, transport in
      let error = try await transport.failure(server.url())
      #expect(error?.code == .protocolError)
    }
  }
}

@Suite("Codings that are the representation's own", .timeLimit(.minutes(1)))
struct UntouchedCodingTests {
  private static let coded: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 255, 1, 2, 3]

  private static func wire(_ status: String, _ coding: String) -> [UInt8] {
    Array("HTTP/1.1 \(status)\r\nContent-Encoding: \(coding)\r\nContent-Length: \(coded.count)\r\n\r\n".utf8) + coded
  }

  /// Catches a coded part, or what a server calls a coding, that makes an error of a good response.
  @Test(
    "a part of a coded file, or a coding that nobody knows, is undone, or is an error",
    arguments: [
      ("206 Partial Content", "gzip"), ("206 Partial Content", "br"), ("200 OK", "UTF-8"),
      ("200 OK", "compress"), ("200 OK", "gzip, exi"),
    ])
  func untouched(status: String, coding: String) async throws {
    try await withServer { connection in
      while connection.readRequest() != nil { connection.send(Self.wire(status, coding)) }
    } _: { server, transport in
      let response = try await transport.send(server.url())
      #expect(response.body == Self.coded)
      #expect(
        response.fields["Content-Encoding"] == coding && response.fields["Content-Length"] == "\(Self.coded.count)")
    }
  }

  /// S3-compatible servers store it with an object whose upload was framed so (versitygw 2398, NooBaa 9138).
  @Test(
    "aws-chunked is passed on, or hides the coding beside it",
    arguments: [
      ("aws-chunked", nil), ("AWS-Chunked", nil), ("aws-chunked,UTF-8", "UTF-8"), ("exi , aws-chunked", "exi"),
    ])
  func uploads(coding: String, left: String?) async throws {
    try await withServer { connection in
      while connection.readRequest() != nil { connection.send(Self.wire("200 OK", coding)) }
    } _: { server, transport in
      let response = try await transport.send(server.url())
      #expect(response.body == Self.coded && response.fields["Content-Encoding"] == left)
      #expect(response.fields["Content-Length"] == "\(Self.coded.count)")
    }
  }

  /// Catches a proxy that decodes what a program asked to get coded, or asks for more than it did.
  @Test("a forwarded request has its codings negotiated", arguments: [nil, "gzip, br", "identity;q=0, *"])
  func forwarded(accepted: String?) async throws {
    try await withServer { connection in
      while connection.readRequest() != nil { connection.send(Self.wire("200 OK", "gzip, gzip, gzip")) }
    } _: { server, transport in
      var request = HTTPRequest(method: "GET", url: try HTTPURL(server.url()))
      (request.isForwarded, request.keepsCodings) = (true, true)
      request.fields["Accept-Encoding"] = accepted
      let response = try await transport.send(request, options: .testing())
      #expect(response.body == Self.coded && response.fields["Content-Encoding"] == "gzip, gzip, gzip")
      let sent = server.requests.flatMap { $0.fields.filter { $0.hasPrefix("Accept-Encoding") } }
      #expect(sent == ["Accept-Encoding: \(accepted ?? "identity")"])
    }
  }

  /// Catches a part of a coded representation, which nobody can undo, that this side has asked for.
  @Test("a part is requested of a coded representation")
  func range() async throws {
    try await withServer {
      $0.serve { _ in ok("plain") }
    } _: { server, transport in
      var request = HTTPRequest(method: "GET", url: try HTTPURL(server.url()))
      request.fields["Range"] = "bytes=0-4"
      _ = try await transport.send(request, options: .testing())
      #expect(server.requests[0].fields.contains("Accept-Encoding: identity"))
    }
  }
}

/// A gzip stream without its end: one zero, then copies of it, 258 at a time (RFC 1951 section 3.2.6).
enum GzipBomb {
  static func bytes(decodingTo count: Int) -> [UInt8] {
    deflated([0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 255], count, isLast: false).bytes
  }

  /// The same with its end, in zlib's frame (RFC 1950), whose checksum of zeros needs no sum.
  static func whole(decodingTo count: Int) -> [UInt8] {
    var bits = deflated([0x78, 0x01], count, isLast: true)
    bits.appendCode(0b0000000, count: 7)  // the block's end
    let zeros = 1 + count / 258 * 258
    let sum = UInt32(zeros % 65521) << 16 | 1
    return bits.bytes + [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: sum >> $0) }
  }

  private static func deflated(_ frame: [UInt8], _ count: Int, isLast: Bool) -> BitWriter {
    var bits = BitWriter(bytes: frame)
    bits.append(isLast ? 0b1 : 0b0, count: 1)
    bits.append(0b01, count: 2)  // fixed codes
    bits.appendCode(0b00110000, count: 8)  // literal 0
    for _ in 0..<(count / 258) {
      bits.appendCode(0b11000101, count: 8)  // length 258
      bits.appendCode(0b00000, count: 5)  // distance 1
    }
    return bits
  }

  private struct BitWriter {
    var bytes: [UInt8]
    private var used = 8

    init(bytes: [UInt8]) { self.bytes = bytes }

    /// Numbers go in from the lowest bit.
    mutating func append(_ value: Int, count: Int) {
      for index in 0..<count { append(bit: value >> index & 1) }
    }

    /// Huffman codes go in from the highest bit.
    mutating func appendCode(_ code: Int, count: Int) {
      for index in (0..<count).reversed() { append(bit: code >> index & 1) }
    }

    private mutating func append(bit: Int) {
      if used == 8 {
        bytes.append(0)
        used = 0
      }
      bytes[bytes.count - 1] |= UInt8(bit << used)
      used += 1
    }
  }
}
