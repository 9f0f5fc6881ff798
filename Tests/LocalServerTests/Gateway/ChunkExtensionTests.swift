import Glibc
import HTTPMessages
import Testing

@testable import LocalServer

@Suite("The extensions of chunks", .timeLimit(.minutes(2)))
struct ChunkExtensionTests {
  /// Answers with the body, or with the reason why there is none.
  private static let responder = Responder { request, response async throws(GatewayClientGone) in
    var (bytes, status): ([UInt8], Int) = ([], 200)
    reading: while true {
      switch await request.body.next() {
      case .bytes(let more): bytes += more
      case .end: break reading
      case .failed(let reason):
        (bytes, status) = (Array("\(reason)\n".utf8), 400)
        break reading
      }
    }
    try await response.begin(status: status, fields: [:], length: Int64(bytes.count))
    try await response.write(bytes)
    try await response.end()
  }

  private static func request(_ line: String, behind: String = "0\r\n\r\n") -> [UInt8] {
    let text = "POST /a HTTP/1.1\r\nHost: postern\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
    return Array("\(text)\(line)\r\nhello\r\n\(behind)".utf8)
  }

  // Catches a message that is about the size, where the extension is what cannot be read.
  @Test("A form that servers read in different ways is rejected without its name")
  func messages() async throws {
    let fixture = try await Fixture(Self.responder)
    let cases = [
      ("5; a=b", "white space"), ("5 ;a=b", "white space"), ("5;a = b", "white space"), ("5;a=\"b\" ", "white space"),
      ("5;", "names and values"), ("5;a=", "names and values"), ("5;a=\"b\"c", "names and values"),
      ("5;a=\"b", "quoted value"), ("5;a=\"\u{1}\"", "quoted value"), ("5x", "hexadecimal"),
      ("5;" + String(repeating: "a", count: 300), "too long"),
      ("5;a=\"" + String(repeating: "b", count: 300), "too long"),
    ]
    for (line, message) in cases {
      let client = try fixture.connect()
      client.send(Self.request(line))
      let text = client.receive()
      #expect(text.hasPrefix("HTTP/1.1 400 ") && text.contains(message), "\(line): \(text)")
    }
    await fixture.server.shutdown()
  }

  // Catches extensions that cost more than the body that they come with, and many chunks with usual ones that are
  // rejected.
  @Test("All extensions of a body are bounded by its data")
  func surplus() async throws {
    let fixture = try await Fixture(Self.responder)
    for (size, isAccepted) in [(1, false), (100, true)] {
      let client = try fixture.connect()
      let chunk = "\(String(size, radix: 16));\(String(repeating: "a", count: 90))\r\n"
      let data = String(repeating: "x", count: size)
      client.send(Self.request("5", behind: String(repeating: "\(chunk)\(data)\r\n", count: 500) + "0\r\n\r\n"))
      let text = client.receive()
      #expect(text.hasPrefix(isAccepted ? "HTTP/1.1 200 OK" : "HTTP/1.1 400 "), "\(text.prefix(300))")
    }
    await fixture.server.shutdown()
  }
}
