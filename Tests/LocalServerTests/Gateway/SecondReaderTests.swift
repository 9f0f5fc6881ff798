import HTTPMessages
import NIOCore
import NIOEmbedded
import NIOHTTP1
import PosternTestSupport
import Testing

@testable import LocalServer

/// Reads requests with llhttp, which servers behind a gateway have in many forms: where the two read a request that the
/// guard accepts in two ways, one of its bytes means something else to somebody.
private struct SecondReader {
  struct Request {
    var head: HTTPRequestHead
    var body: [UInt8] = []
    var isWhole = false
  }

  var requests: [Request] = []
  var hasFailed = false

  init(_ bytes: [UInt8]) {
    let channel = EmbeddedChannel()
    var limits = NIOHTTPDecoderLimitConfiguration()
    (limits.maxHeaderFieldSize, limits.maxHeaderListSize, limits.maxHeaderFieldCount) = (1 << 20, 1 << 20, 1000)
    do {
      try channel.pipeline.syncOperations.addHandler(
        ByteToMessageHandler(HTTPRequestDecoder(limitConfiguration: limits)))
      try channel.writeInbound(NIOCore.ByteBuffer(bytes: bytes))
    } catch {
      hasFailed = true
    }
    while let part = try? channel.readInbound(as: HTTPServerRequestPart.self) {
      switch part {
      case .head(let head): requests.append(Request(head: head))
      case .body(let bytes): requests[requests.count - 1].body += bytes.readableBytesView
      case .end: requests[requests.count - 1].isWhole = true
      }
    }
    _ = try? channel.finish(acceptAlreadyClosed: true)
  }
}

/// Reads one request with the guard.
private struct FirstReader {
  var head: RequestHead?
  var body: [UInt8] = []
  var isWhole = false
  /// The bytes of the request.
  var used = 0

  init(_ bytes: [UInt8]) {
    var requestGuard = RequestGuard()
    reading: while used < bytes.count, !requestGuard.isComplete {
      let (count, event) = bytes[used...].withUnsafeBytes { requestGuard.read($0) }
      switch event {
      case .head(let head, _): self.head = head
      case .body(let data): body += data
      case .rejected: break reading
      case nil: break
      }
      used += count
    }
    isWhole = requestGuard.isComplete
  }
}

@Suite("Requests as two readers read them")
struct SecondReaderTests {
  /// llhttp does not read methods that it does not know, waits for another protocol behind `Upgrade`, and wants
  /// characters percent-encoded that no URL has.
  private static func translated(_ bytes: [UInt8], _ head: RequestHead) -> [UInt8] {
    let lines = bytes.split(separator: 0x0A, omittingEmptySubsequences: false)
    let first = lines.firstIndex { $0.count > 1 } ?? 0
    let method = HTTPMethod(rawValue: head.line.method)
    var isKnown = true
    if case .RAW = method { isKnown = false }
    var result = Array(
      "\(isKnown ? head.line.method : "POST") \(head.line.target) HTTP/1.\(head.line.minorVersion)\r".utf8)
    var isInHead = true
    for line in lines[(first + 1)...] {
      if isInHead, line.count <= 1 { isInHead = false }
      let name = String(decoding: line.prefix(8), as: UTF8.self).lowercased()
      if isInHead, name == "upgrade:" { continue }
      result.append(0x0A)
      result += line
    }
    return result
  }

  private static func compare(_ bytes: [UInt8], _ name: String) -> Bool {
    let first = FirstReader(bytes)
    guard let head = first.head, first.isWhole else { return false }
    let second = SecondReader(translated(Array(bytes.prefix(first.used)), head))
    guard !second.hasFailed, second.requests.count == 1, let other = second.requests.first else {
      Issue.record("only one reader accepts: \(name)")
      return true
    }
    #expect(other.isWhole && other.body == first.body, "\(name)")
    #expect(other.head.method.rawValue == head.line.method || other.head.method == .POST, "\(name)")
    #expect(
      other.head.uri == head.line.target && other.head.version == .init(major: 1, minor: head.line.minorVersion),
      "\(name)")
    let fields = head.fields.lines.filter { $0.name.lowercased() != "upgrade" }
    #expect(fields.count == other.head.headers.count, "\(name)")
    for (field, found) in zip(fields, other.head.headers) {
      // It leaves tabs behind a value, and has replacement characters for what is not UTF-8.
      #expect(
        field.name == found.name
          && String(decoding: FieldOctets.bytes(field.value), as: UTF8.self) == HTTPFieldRules.trimmed(found.value),
        "\(name)")
    }
    return true
  }

  // Catches framing, a line or a name that the gateway reads in another way than the server behind it.
  @Test("Every request of the table that is accepted is the same to both")
  func table() throws {
    let table = try #require(RequestTable.shared)
    for request in table.valid { #expect(Self.compare(request.bytes, request.name), "\(request.name)") }
    // Some are malformed behind a first request that is not.
    for request in table.malformed { _ = Self.compare(request.bytes, request.name) }
  }

  // The same for what nobody has thought of.
  @Test("Every request of random parts that is accepted is the same to both")
  func random() {
    var generator = SeededGenerator(seed: 23)
    let fields = [
      "Host: a", "Host: b", "Content-Length: 5", "Content-Length: 0", "Transfer-Encoding: chunked",
      "Transfer-Encoding: gzip, chunked", "X: y", "X:", "X : y", " X: y", "X: y\tz", "X: \u{FC}",
      "Expect: 100-continue",
      "Connection: close", "Connection: upgrade", "Upgrade: h2c", "content_length: 3", "Content-Length : 3",
    ]
    let bodies = [
      "", "hello", "5\r\nhello\r\n0\r\n\r\n", "5;a=b\r\nhello\r\n0\r\nX: y\r\n\r\n", "05\r\nhello\r\n0\r\n\r\n",
      "5\r\nhello0\r\n\r\n", "5\nhello\r\n0\r\n\r\n", "0\r\n\r\n", "1\r\na\r\n2\r\nbc\r\n0\r\n\r\n",
    ]
    let targets = ["/", "/a?b", "/a|b", "http://a/x", "*", "/%zz", "//x", "/a#b", "/a%20b"]
    let methods = ["GET", "POST", "PUT", "QUERY", "get", "HEAD", "DELETE", "G T"]
    let ends = ["\r\n", "\r\n", "\r\n", "\r\n", "\r\n", "\r\n", "\r\n", "\n", "\r"]
    var accepted = 0
    for _ in 0..<Thoroughness.repetitions(30_000, usually: 5_000) {
      func pick(_ parts: [String]) -> String { parts.randomElement(using: &generator) ?? "" }
      var text = "\(pick(methods)) \(pick(targets)) HTTP/1.\(pick(["1", "1", "1", "0"]))\(pick(ends))"
      if Int.random(in: 0..<4, using: &generator) > 0 { text += "Host: a\r\n" }
      for _ in 0..<Int.random(in: 0...3, using: &generator) { text += pick(fields) + pick(ends) }
      text += pick(ends) + pick(bodies)
      if Self.compare(Array(text.utf8), text.debugDescription) { accepted += 1 }
    }
    #expect(accepted > 20)
  }

  // Catches an extension of a chunk whose end the two see in different bytes.
  @Test("Random extensions of chunks that are accepted are the same to both")
  func extensions() {
    let parts = [
      "a", "b", "=", ";", "\"", "\\", " ", "\t", ",", "\u{1}", "\u{7F}", "\u{FC}", "\r", "\n", "\r\n", "=\"", "\";",
      "5",
    ]
    var generator = SeededGenerator(seed: 7)
    var accepted = 0
    for _ in 0..<Thoroughness.repetitions(30_000, usually: 5_000) {
      let text = (0..<Int.random(in: 0...9, using: &generator)).map { _ in
        parts.randomElement(using: &generator) ?? ""
      }.joined()
      let bytes = Array(
        "POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5;\(text)\r\nhello\r\n0\r\n\r\n".utf8)
      if Self.compare(bytes, text.debugDescription) { accepted += 1 }
    }
    #expect(accepted > 20)
  }
}
