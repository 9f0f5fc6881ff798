/// A kind of misbehaviour of the server, by the first segment of the requested path.
enum Misbehaviour: String, Sendable, CaseIterable {
  /// An ordinary answer; so that one can see the connection kept.
  case ok
  // Before any byte of an answer.
  case close, reset, stall
  // Within the header block.
  case closeHead, resetHead, stallHead
  // Within the body.
  case closeBody, resetBody, stallBody
  /// One byte at a time: `ms` between them.
  case drip
  // Lengths: the announced one is larger or smaller than the body, there is none, none and a reset, two, a word.
  case longLength, shortLength, noLength, noLengthReset, twoLengths, badLength
  // Chunks: with trailers, as they may be; a size that is none; cut off; trailers without end.
  case trailers, badChunk, cutChunk, trailerFlood
  /// `n` interim responses before an ordinary answer; and without end.
  case interim, interimFlood
  // Header fields without end, one line without end, `n` fields of `size` bytes.
  case fieldFlood, lineFlood, fields
  /// Zeros without end, compressed; `layers` times.
  case bomb
  /// Declares compression, and is not compressed.
  case badCoding
  // Bytes that are no HTTP, a text without a header block (HTTP/0.9), an old version (HTTP/1.0), an unknown version.
  case garbage, http09, http10, http7
  /// Switches protocols without a request for it.
  case upgrade
  // A body where there is none: with 204, and with 304.
  case body204, body304
  /// Excess bytes after the answer.
  case excess
  // The first request of a connection is answered; the next one meets a close or a reset; or the connection is closed
  // after `ms`.
  case closeKept, resetKept, closeLater
  /// `status` (default 503) with the query's `retryAfter` as `Retry-After` and its `date` as `Date`.
  case status

  private static let whole: [FaultStep] = [
    .head("200 OK", "Content-Type: text/plain", "Content-Length: 2"), .send("ok"),
  ]
  private static let half: [FaultStep] = [
    .head("200 OK", "Content-Type: text/plain", "Content-Length: 10"), .send("hello"),
  ]
  private static let firstChunk: [FaultStep] = [
    .head("200 OK", "Content-Type: text/plain", "Transfer-Encoding: chunked"), .send("5\r\nhello\r\n"),
  ]

  /// The steps for `request`; the connection stays afterwards unless a step closes it.
  func steps(for request: RawRequest) -> [FaultStep] {
    switch self {
    case .ok: Self.whole
    case .close: [.close]
    case .reset: [.reset]
    case .stall: [.stall]
    case .closeHead: [.send("HTTP/1.1 200 OK\r\nContent-Ty"), .close]
    case .resetHead: [.send("HTTP/1.1 200 OK\r\nContent-Ty"), .wait(milliseconds: 50), .reset]
    case .stallHead: [.send("HTTP/1.1 200 OK\r\nContent-Ty"), .stall]
    case .closeBody, .longLength: Self.half + [.close]
    case .resetBody: Self.half + [.wait(milliseconds: 50), .reset]
    case .stallBody: Self.half + [.stall]
    case .drip:
      [
        .head("200 OK", "Content-Length: 1000"),
        .drip(Array(repeating: 0x78, count: 1000), milliseconds: pause(request)),
      ]
    case .shortLength:
      [.head("200 OK", "Content-Type: text/plain", "Content-Length: 2"), .send("okHTTP/1.1 200 OK\r\n\r\n")]
    case .noLength: [.head("200 OK", "Content-Type: text/plain"), .send("hello"), .close]
    case .noLengthReset: [.head(), .send("hello"), .wait(milliseconds: 50), .reset]
    case .twoLengths: [.head("200 OK", "Content-Length: 2", "Content-Length: 5"), .send("hello"), .stall]
    case .badLength: [.head("200 OK", "Content-Length: five"), .send("hello"), .stall]
    case .trailers: Self.firstChunk + [.send("0\r\nX-Trailer: 1\r\n\r\n")]
    case .badChunk: Self.firstChunk + [.send("xyz\r\nhello\r\n"), .stall]
    case .cutChunk: Self.firstChunk + [.send("5\r\nhe"), .close]
    case .trailerFlood:
      Self.firstChunk + [.send("0\r\n"), .flood(Array("T: 1\r\n".utf8), times: Limits.floodTimes), .stall]
    case .interim:
      [.flood(Array("HTTP/1.1 103 Early Hints\r\nX-Hint: 1\r\n\r\n".utf8), times: request.number("n", 1, upTo: 1000))]
        + Self.whole
    case .interimFlood: [.flood(Array("HTTP/1.1 100 Continue\r\n\r\n".utf8), times: Limits.floodTimes), .stall]
    default: furtherSteps(for: request)
    }
  }

  private func furtherSteps(for request: RawRequest) -> [FaultStep] {
    let start = FaultStep.send("HTTP/1.1 200 OK\r\n")
    switch self {
    case .fieldFlood: return [start, .flood(Array("X-Field: 1\r\n".utf8), times: Limits.floodTimes), .stall]
    case .lineFlood:
      return [start, .send("X-Line: "), .flood(Array(repeating: 0x78, count: 1024), times: Limits.floodTimes), .stall]
    case .fields:
      let line = "X-Field: \(String(repeating: "x", count: request.number("size", 1, upTo: 1 << 20)))\r\n"
      return [
        start, .flood(Array(line.utf8), times: request.number("n", 1, upTo: 100_000)),
        .send("Content-Length: 0\r\n\r\n"),
      ]
    case .bomb: return ZeroBomb.steps(layers: max(1, request.number("layers", 1, upTo: 16)))
    case .badCoding:
      return [.head("200 OK", "Content-Encoding: gzip", "Content-Length: 5"), .send("hello")]
    case .garbage: return [.send([0, 1, 2, 0xFF, 0x0D, 0x0A, 0x0D, 0x0A]), .stall]
    case .http09: return [.send("<html>hello</html>"), .close]
    case .http10: return [.send("HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\nhello"), .close]
    case .http7: return [.send("HTTP/7.3 200 OK\r\n\r\n"), .stall]
    case .upgrade: return [.head("101 Switching Protocols", "Upgrade: x"), .send("hello"), .stall]
    case .body204: return [.head("204 No Content", "Content-Length: 5"), .send("hello")]
    case .body304: return [.head("304 Not Modified", "Content-Length: 5"), .send("hello")]
    case .excess: return Self.whole + [.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nwrong")]
    case .closeKept: return request.number == 0 ? Self.whole : [.close]
    case .resetKept: return request.number == 0 ? Self.whole : [.reset]
    case .closeLater: return Self.whole + [.wait(milliseconds: pause(request)), .close]
    case .status:
      let lines = [("retryAfter", "Retry-After"), ("date", "Date")].map { name, field in
        request.text(name).map { "\(field): \($0.filter { $0 >= " " })\r\n" } ?? ""
      }
      let status = max(200, request.number("status", 503, upTo: 599))
      return [.send("HTTP/1.1 \(status) Status\r\n\(lines.joined())Content-Length: 0\r\n\r\n")]
    default: return Self.whole
    }
  }

  private func pause(_ request: RawRequest) -> Int { request.number("ms", 100, upTo: Limits.delayMilliseconds) }
}
