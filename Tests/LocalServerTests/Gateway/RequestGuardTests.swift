import Foundation
import HTTPMessages
import PosternSupport
import Testing

@testable import LocalServer

/// The requests of `Tests/EndToEnd/gateway-requests.json`, which end-to-end tests send, too.
struct RequestTable {
  struct Malformed: Sendable {
    let name: String
    let bytes: [UInt8]
    let status: Int
  }

  struct Valid: Sendable {
    let name: String
    let bytes: [UInt8]
    let bodies: [[UInt8]]
  }

  var malformed: [Malformed] = []
  var valid: [Valid] = []

  static let shared = try? RequestTable()

  init() throws {
    let file = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
      .appending(path: "EndToEnd/gateway-requests.json")
    let table = try JSONSerialization.jsonObject(with: Data(contentsOf: file)) as? [String: [[String: Any]]]
    for entry in table?["malformed"] ?? [] {
      malformed.append(
        Malformed(
          name: entry["name"] as? String ?? "", bytes: Self.bytes(entry["request"]),
          status: entry["status"] as? Int ?? 0))
    }
    for entry in table?["valid"] ?? [] {
      valid.append(
        Valid(
          name: entry["name"] as? String ?? "", bytes: Self.bytes(entry["request"]),
          bodies: (entry["bodies"] as? [Any] ?? []).map(Self.bytes)))
    }
  }

  /// Each character of the table is one byte.
  private static func bytes(_ value: Any?) -> [UInt8] {
    (value as? String ?? "").unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) }
  }
}

/// A connection that answers each request as soon as it is whole.
private struct Reading {
  var heads: [RequestHead] = []
  var bodies: [[UInt8]] = []
  var rejection: RequestRejection?
  private var requestGuard = RequestGuard()

  init(_ bytes: [UInt8], inPiecesOf size: Int) {
    var start = 0
    while start < bytes.count, rejection == nil {
      let end = min(bytes.count, start + size)
      take(bytes[start..<end])
      start = end
    }
  }

  private mutating func take(_ piece: ArraySlice<UInt8>) {
    var rest = piece
    while !rest.isEmpty, rejection == nil {
      let (used, event) = rest.withUnsafeBytes { requestGuard.read($0) }
      switch event {
      case .head(let head, _):
        heads.append(head)
        bodies.append([])
      case .body(let data): bodies[bodies.count - 1] += data
      case .rejected(let found): rejection = found
      case nil: break
      }
      rest = rest.dropFirst(used)
      if requestGuard.isComplete { requestGuard.startNext() }
    }
  }
}

@Suite("The reader of requests")
struct RequestGuardTests {
  // Catches a request that passes although two parsers read it differently, or that passes in some pieces only.
  @Test("No malformed request passes, however its bytes are split")
  func malformed() throws {
    let table = try #require(RequestTable.shared)
    #expect(table.malformed.count >= 200)
    for request in table.malformed {
      for size in [request.bytes.count, 1, 7] {
        let reading = Reading(request.bytes, inPiecesOf: size)
        #expect(reading.rejection?.status == request.status, "\(request.name) in pieces of \(size)")
      }
    }
  }

  // Catches a reader that is stricter than clients are, and framing that becomes part of a body.
  @Test("Valid requests pass, one behind another, however their bytes are split")
  func valid() throws {
    for request in try #require(RequestTable.shared).valid {
      for size in [request.bytes.count, 1, 3] {
        let reading = Reading(request.bytes, inPiecesOf: size)
        #expect(reading.rejection == nil, "\(request.name): \(reading.rejection?.detail ?? "")")
        #expect(reading.heads.count == request.bodies.count, "\(request.name) in pieces of \(size)")
        #expect(reading.bodies == request.bodies, "\(request.name) in pieces of \(size)")
      }
    }
  }

  // Catches a look at everything from the start for each byte: this would take hours.
  @Test("A header section costs as much as it has bytes, however they come")
  func cost() throws {
    var limits = RequestGuard.Limits()
    (limits.field, limits.section, limits.trailers) = (4 << 20, 4 << 20, 4 << 20)
    let value = String(repeating: "a", count: 1 << 20)
    let text =
      "POST /a HTTP/1.1\r\nHost: postern\r\nX: \(value)\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: \(value)\r\n\r\n"
    var requestGuard = RequestGuard(limits)
    for byte in text.utf8 {
      withUnsafeBytes(of: byte) { _ = requestGuard.read($0) }
    }
    #expect(requestGuard.isComplete)
  }

  // Catches fields that are read, and kept, before it is known that there are too many.
  @Test("What is over a limit is rejected at its first byte")
  func limits() throws {
    let start = "GET /a HTTP/1.1\r\nHost: postern\r\n"
    let cases: [(String, Int)] = [
      ("GET /" + String(repeating: "a", count: 8 << 10) + String(repeating: "a", count: 296), 414),
      (start + "X: " + String(repeating: "a", count: (16 << 10) - 2), 431),
      (start + String(repeating: "X: a\r\n", count: 99) + "not a field\r\n", 431),
    ]
    for (text, status) in cases {
      #expect(Reading(Array(text.utf8.dropLast(2)), inPiecesOf: 1).rejection == nil)
      #expect(Reading(Array(text.utf8), inPiecesOf: 1).rejection?.status == status, "\(text.prefix(20))")
    }
  }

  // Catches a rejection without the trace of its request, or with a body where the method is HEAD.
  @Test("What is known of a malformed request is known at its rejection")
  func known() {
    let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    let cases: [(String, isHead: Bool, String?)] = [
      ("HEAD /a HTTP/1.1\r\nTraceParent: \(trace)\r\nX Y: a\r\n", true, trace),
      ("GET /a HTTP/1.1\r\nX Y: a\r\ntraceparent: \(trace)\r\n", false, nil),
      ("HEAD /% HTTP/1.1\r\n", true, nil), ("\r\nHEAD /a\n", true, nil),
      ("HEADS /a HTTP/1.1\r\nX Y: a\r\n", false, nil),
    ]
    for (text, isHead, traceparent) in cases {
      var requestGuard = RequestGuard()
      _ = Array(text.utf8).withUnsafeBytes { requestGuard.read($0) }
      #expect(requestGuard.hasFailed && requestGuard.isHead == isHead, "\(text)")
      #expect(requestGuard.traceparent == traceparent, "\(text)")
    }
  }

  // Catches a reader that waits for another protocol, and then reads the next request as part of it.
  @Test("A request to upgrade is read as any other")
  func upgrade() throws {
    let text = "GET /a?b HTTP/1.1\r\nHost: postern\r\nUpgrade: h2c\r\nConnection: Upgrade\r\nX: y\r\n\r\n"
    let reading = Reading(Array((text + text).utf8), inPiecesOf: 5)
    #expect(reading.heads.count == 2)
    let head = try #require(reading.heads.first)
    #expect(head.line.path == "/a" && head.line.query == "b" && head.upgrades == ["h2c"])
    #expect(head.forwarded == ["X": "y"])
  }

  // Catches an origin server that believes Host where the target has another authority, and a gateway that does.
  @Test("The authority of a target replaces the one of Host only where that is wanted")
  func authority() throws {
    let text = Array("GET http://a.example/x HTTP/1.1\r\nHost: b.example\r\n\r\n".utf8)
    #expect(Reading(text, inPiecesOf: text.count).rejection?.status == 400)
    var limits = RequestGuard.Limits()
    limits.replacesHost = true
    var requestGuard = RequestGuard(limits)
    guard case .head(let head, let size) = text.withUnsafeBytes({ requestGuard.read($0) }).event else {
      Issue.record("no head")
      return
    }
    #expect(head.host == "a.example" && head.line.path == "/x" && size == text.count)
  }

  // Catches fields of one hop, and the listener's key, that reach another server.
  @Test("Only fields that are for the other server are forwarded")
  func forwarded() throws {
    let text = """
      POST /a HTTP/1.1\r\nHost: postern\r\nConnection: X-Own, keep-alive\r\nKeep-Alive: timeout=5\r\nX-Own: a\r
      TE: trailers\r\nTrailer: X\r\nProxy-Authorization: Basic a\r\nProxy-Connection: close\r\nPostern-Key: a\r
      Transfer-Encoding: chunked\r\nExpect: 100-continue\r\nX: 1\r\nx: 2\r\nPostern-Session: b\r\n\r\n
      """
    let head = try #require(Reading(Array(text.utf8), inPiecesOf: 1000).heads.first)
    #expect(head.forwarded == ["X": "1", "x": "2", "Postern-Session": "b"])
    #expect(head.expectsContinue && !head.closes)
  }
}

@Suite("What is sent around a response")
struct ResponseFramingTests {
  private static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

  // Catches responses whose end the client cannot see, and bodies where there must be none.
  @Test("Each kind of response has the framing that its client can read")
  func framing() throws {
    var known = ResponseFraming(method: "GET", minorVersion: 1, closes: false)
    #expect(
      Self.text(try known.begin(status: 200, fields: ["A": "b"], length: 2))
        == "HTTP/1.1 200 OK\r\nA: b\r\nContent-Length: 2\r\n\r\n")
    #expect(try known.write(2)?.before == [])
    #expect(try known.end() == [] && !known.closes)
    var chunked = ResponseFraming(method: "GET", minorVersion: 1, closes: true)
    #expect(
      Self.text(try chunked.begin(status: 500, fields: [:], length: nil))
        == "HTTP/1.1 500 Internal Server Error\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n")
    let chunk = try #require(try chunked.write(31))
    #expect(Self.text(chunk.before) == "1f\r\n" && Self.text(chunk.behind) == "\r\n")
    // An empty piece would end the body.
    #expect(try chunked.write(0) == nil)
    #expect(Self.text(try chunked.end()) == "0\r\n\r\n")
    var old = ResponseFraming(method: "GET", minorVersion: 0, closes: false)
    #expect(
      Self.text(try old.begin(status: 200, fields: [:], length: nil)) == "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
    #expect(try old.write(3)?.before == [])
    #expect(try old.end() == [])
  }

  // Catches a HEAD whose response has a body, and a 204 with Content-Length (RFC 9110 section 8.6).
  @Test(
    "HEAD, 204 and 304 have no body",
    arguments: [("HEAD", 200, "Content-Length: 5\r\n"), ("GET", 204, ""), ("GET", 304, "")])
  func withoutBody(method: String, status: Int, length: String) throws {
    var framing = ResponseFraming(method: method, minorVersion: 1, closes: false)
    #expect(Self.text(try framing.begin(status: status, fields: [:], length: 5)).hasSuffix("\r\n\(length)\r\n"))
    #expect(try framing.write(5) == nil)
    #expect(try framing.end() == [])
  }

  // Catches half a body that looks like a whole one, and a response that another one is hidden in.
  @Test("A response that does not keep to its framing breaks")
  func violations() throws {
    var short = ResponseFraming(method: "GET", minorVersion: 1, closes: false)
    #expect(throws: ResponseFraming.Violation.self) { try short.write(1) }
    _ = try short.begin(status: 200, fields: [:], length: 2)
    #expect(throws: ResponseFraming.Violation.self) { try short.begin(status: 200, fields: [:], length: 2) }
    #expect(throws: ResponseFraming.Violation.self) { try short.write(3) }
    #expect(throws: ResponseFraming.Violation.self) { try short.end() }
    let fields: [HTTPFields] = [
      ["A": "b\r\nC: d"], ["A b": "c"], ["Content-Length": "1"], ["transfer-encoding": "chunked"], ["Connection": "x"],
    ]
    for field in fields {
      var framing = ResponseFraming(method: "GET", minorVersion: 1, closes: false)
      #expect(throws: ResponseFraming.Violation.self) { try framing.begin(status: 200, fields: field, length: 0) }
    }
    for status in [100, 101, 199, 600, 0] {
      var framing = ResponseFraming(method: "GET", minorVersion: 1, closes: false)
      #expect(throws: ResponseFraming.Violation.self) { try framing.begin(status: status, fields: [:], length: 0) }
    }
  }

  // Catches a rejection that clients cannot read as JSON, that lacks what every problem has, or that keeps a connection
  // whose bytes have no meaning.
  @Test(
    "A rejection is a problem document behind which the connection closes",
    arguments: [
      ErrorCode.malformedRequest, .requestTooLarge, .unsupported, .misdirected, .webPage, .keyRequired, .requestTimeout,
      .peerForbidden, .overloaded,
    ])
  func rejection(_ code: ErrorCode) throws {
    let status = code == .overloaded ? 503 : 400
    let trace = "0af7651916cd43dd8448eb211c80319c"
    let rejection = RequestRejection("a reason", status: status, code)
    let text = Self.text(rejection.response(isToHead: false, traceID: trace))
    let parts = text.split(separator: "\r\n\r\n")
    #expect(parts[0].hasPrefix("HTTP/1.1 \(status) "))
    #expect(parts[0].contains("\r\nConnection: close"))
    #expect(parts[0].contains("\r\nRetry-After: 1\r\n") == (status == 503))
    let body = try #require(JSONSerialization.jsonObject(with: Data(parts[1].utf8)) as? [String: Any])
    #expect(body["status"] as? Int == status && body["reason"] as? String == code.reason)
    #expect(body["code"] as? Int == code.number && body["title"] as? String == code.summary)
    #expect(body["type"] as? String == "urn:postern:error:\(code.reason)" && body["detail"] as? String == "a reason")
    #expect(body["outcome"] as? String == "not_sent" && body["traceId"] as? String == trace)
    // The same without the body.
    let head = Self.text(rejection.response(isToHead: true, traceID: trace))
    #expect(head == "\(parts[0])\r\n\r\n")
    #expect(Self.text(rejection.responseWithoutBody).hasSuffix("\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"))
  }

  // Catches a client of HEAD that takes the body of a rejection for its next response.
  @Test(
    "The method of a connection over a limit is known as soon as it can be",
    arguments: [
      ("HEAD ", true, true), ("\r\nHEAD /a", true, true), ("HEAD", false, false), ("", false, false),
      ("GET", true, false), ("HEADS ", true, false), ("H", false, false), ("head ", true, false),
    ])
  func rejectedMethod(bytes: String, isKnown: Bool, isHead: Bool) {
    var (whole, split) = (RejectedMethod(), RejectedMethod())
    whole.read(Array(bytes.utf8))
    for byte in bytes.utf8 { split.read([byte]) }
    for method in [whole, split] { #expect(method.isKnown == isKnown && method.isHead == isHead, "\(bytes)") }
  }
}
