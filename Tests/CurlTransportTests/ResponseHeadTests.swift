import HTTPMessages
import Testing

@testable import CurlTransport

@Suite("Header sections, line by line")
struct ResponseHeadTests {
  private static let limits = ResponseHead.Limits(bytes: 400, lines: 8, interim: 2)

  /// Feeds the lines and returns the last step.
  private func read(_ lines: [String]) -> (head: ResponseHead, step: ResponseHead.Step) {
    read(lines.map { Array($0.utf8) })
  }

  private func read(_ lines: [[UInt8]]) -> (head: ResponseHead, step: ResponseHead.Step) {
    var head = ResponseHead(limits: Self.limits)
    var step = ResponseHead.Step.more
    for line in lines {
      step = line.withUnsafeBufferPointer { head.consume($0) }
      if step != .more, step != .complete { break }
    }
    return (head, step)
  }

  @Test("status, reason and fields come out as sent, in order, repeats kept")
  func plain() {
    let (head, step) = read([
      "HTTP/1.1 201 Created here\r\n", "A: 1\r\n", "b:2\r\n", "A:  3 \t\r\n", "Empty:\r\n", "\r\n",
    ])
    #expect(step == .complete)
    #expect(head.isComplete)
    #expect(head.status == 201)
    #expect(head.reason == "Created here")
    #expect(head.lines.map(\.name) == ["A", "b", "A", "Empty"])
    #expect(head.lines.map(\.value) == ["1", "2", "3", ""])
  }

  @Test(
    "an empty reason phrase is no reason", arguments: ["HTTP/2 204 \r\n", "HTTP/1.1 204\r\n", "HTTP/1.1 204  \r\n"])
  func noReason(line: String) {
    let head = read([line, "\r\n"]).head
    #expect(head.status == 204)
    #expect(head.reason == nil)
  }

  @Test("interim responses leave nothing behind")
  func interim() {
    let (head, step) = read([
      "HTTP/1.1 103 Early Hints\r\n", "Link: </x>\r\n", "Content-Length: 7\r\n", "\r\n", "HTTP/1.1 200 OK\r\n",
      "A: 1\r\n", "\r\n",
    ])
    #expect(step == .complete)
    #expect(head.lines == [HTTPFields.Field(name: "A", value: "1")])
    #expect(head.framing.contentLength == nil)
  }

  @Test("trailers are not fields")
  func trailers() {
    let (head, step) = read(["HTTP/1.1 200 OK\r\n", "A: 1\r\n", "\r\n", "Trailer-Field: x\r\n", "\r\n"])
    #expect(step == .more)
    #expect(head.lines == [HTTPFields.Field(name: "A", value: "1")])
  }

  @Test("a folded line continues the value before it")
  func folding() {
    let head = read(["HTTP/1.1 200 OK\r\n", "A: one\r\n", "  two\r\n", "\tthree\r\n", " \r\n", "\r\n"]).head
    #expect(head.lines == [HTTPFields.Field(name: "A", value: "one two three")])
  }

  @Test("UTF-8 is kept, anything else is read as ISO 8859-1, so that no byte is lost")
  func text() {
    let lines: [[UInt8]] = [
      Array("HTTP/1.1 200 OK\r\n".utf8), Array("A: gr\u{fc}n\r\n".utf8), [0x42, 0x3A, 0x67, 0xFC, 0x6E, 0x0D, 0x0A],
    ]
    #expect(read(lines).head.lines.map(\.value) == ["gr\u{fc}n", "g\u{fc}n"])
  }

  @Test(
    "content codings are noticed, identity is none",
    arguments: [
      ("gzip", true), ("GZIP", true), ("identity", false), ("Identity", false), ("", false), ("gzip, br", true),
    ])
  func coding(value: String, isCoded: Bool) {
    #expect(read(["HTTP/1.1 200 OK\r\n", "content-ENCODING: \(value)\r\n"]).head.framing.hasContentCoding == isCoded)
  }

  @Test("two equal lengths are one")
  func equalLengths() {
    let (head, step) = read(["HTTP/1.1 200 OK\r\n", "Content-Length: 5\r\n", "content-length:5\r\n", "\r\n"])
    #expect(step == .complete)
    #expect(head.framing.contentLength == 5)
  }

  @Test(
    "a head that breaks HTTP is rejected",
    arguments: [
      ["hello\r\n"], ["HTTP/1.1\r\n"], ["HTTP/1.1 20\r\n"], ["HTTP/1.1 2000 OK\r\n"], ["HTTP/1.1 20x OK\r\n"],
      ["HTTP/1.1 099 Low\r\n"], ["HTTP/1.1 600 High\r\n"], ["HTTP/1.1 200 a\0b\r\n"], ["HTTP/1.1 200 a\rb\r\n"],
      ["HTTP/1.1 200 OK\r\n", "no colon\r\n"], ["HTTP/1.1 200 OK\r\n", ": no name\r\n"],
      ["HTTP/1.1 200 OK\r\n", "space : 1\r\n"], ["HTTP/1.1 200 OK\r\n", "in side: 1\r\n"],
      ["HTTP/1.1 200 OK\r\n", "A: x\0y\r\n"], ["HTTP/1.1 200 OK\r\n", "A: x\rB: y\r\n"],
      ["HTTP/1.1 200 OK\r\n", " folded: onto nothing\r\n"], ["HTTP/1.1 200 OK\r\n", "A: 1\r\n", " x\0\r\n"],
      ["HTTP/1.1 200 OK\r\n", "Content-Length: 5\r\n", "Content-Length: 6\r\n"],
      ["HTTP/1.1 200 OK\r\n", "Content-Length: -5\r\n"], ["HTTP/1.1 200 OK\r\n", "Content-Length: +5\r\n"],
      ["HTTP/1.1 200 OK\r\n", "Content-Length: 5, 5\r\n"], ["HTTP/1.1 200 OK\r\n", "Content-Length:\r\n"],
      ["HTTP/1.1 200 OK\r\n", "Content-Length: 99999999999999999999\r\n"],
      ["HTTP/1.1 101 Switching Protocols\r\n", "\r\n"],
      ["HTTP/1.1 200 OK\r\n", "Content-Encoding: gzip\r\n", " , gzip\r\n"],
      ["HTTP/1.1 200 OK\r\n", "Transfer-Encoding: gzip, chunked\r\n"],
      ["HTTP/1.1 200 OK\r\n", "Transfer-Encoding: chunked\r\n", "Transfer-Encoding: chunked\r\n"],
    ])
  func malformed(lines: [String]) {
    guard case .malformed = read(lines).step else {
      Issue.record("accepted")
      return
    }
  }

  @Test("a flood of interim responses is rejected once it passes the bound")
  func interimFlood() {
    let one = ["HTTP/1.1 100 Continue\r\n", "\r\n"]
    #expect(read(one + one).step == .more)
    guard case .malformed = read(one + one + one).step else {
      Issue.record("accepted")
      return
    }
  }

  @Test("fields are counted, interim ones and trailers too", arguments: [8, 9])
  func countFlood(count: Int) {
    let status = "HTTP/1.1 200 OK\r\n"
    let shapes = [
      [status] + Array(repeating: "A: 1\r\n", count: count),
      ["HTTP/1.1 100 Continue\r\n", "A: 1\r\n", "\r\n", status] + Array(repeating: "A: 1\r\n", count: count - 1),
      [status, "A: 1\r\n", "\r\n"] + Array(repeating: "A: 1\r\n", count: count - 1),
      [status, "A: 1\r\n"] + Array(repeating: " folded\r\n", count: count - 1),
    ]
    for shape in shapes { #expect(read(shape).step == (count == 8 ? .more : .tooLarge("more than 8 header fields"))) }
  }

  @Test("bytes are counted, whatever they are in", arguments: ["A: ", " "])
  func byteFlood(start: String) {
    let long = String(repeating: "x", count: 390)
    let step = read(["HTTP/1.1 200 OK\r\n", "B: 1\r\n", start + long + "\r\n"]).step
    #expect(step == .tooLarge("more than 400 bytes of header fields"))
  }
}
