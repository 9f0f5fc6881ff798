import HTTPMessages
import Testing

@testable import LocalServer

@Suite("What programs send is read in one way, and passed on")
struct PassedTests {
  private func read(_ text: String) throws -> RequestHead {
    var requestGuard = RequestGuard()
    let (_, event) = Array(text.unicodeScalars.map { UInt8($0.value) }).withUnsafeBytes { requestGuard.read($0) }
    switch event {
    case .head(let head, _): return head
    case .rejected(let rejection): throw rejection
    case .body, nil: throw RequestRejection("no head")
    }
  }

  static let targets: [(String, String, String?)] = [
    ("/x?where={%22id%22:1}", "/x", "where=%7B%22id%22:1%7D"), ("/a|b^c`d", "/a%7Cb%5Ec%60d", nil),
    ("/\"<>\"", "/%22%3C%3E%22", nil), ("/x?f[a]=1", "/x", "f%5Ba%5D=1"), ("/a%7cb", "/a%7cb", nil),
    ("http://[::1]:80/a|b", "/a%7Cb", nil),
  ]

  // Catches a target that two servers read differently, or that a parser behind the guard does not know.
  @Test("Characters that no URL has are not percent-encoded, or others are", arguments: targets)
  func encodes(target: String, path: String, query: String?) throws {
    let host = target.hasPrefix("/") ? "postern" : "[::1]:80"
    let head = try read("GET \(target) HTTP/1.1\r\nHost: \(host)\r\n\r\n")
    #expect(head.line.path == path && head.line.query == query)
  }

  // Catches a program's method that is rejected, or becomes another one.
  @Test("A method that few servers know is rejected", arguments: ["LIST", "QUERY", "x-Y"])
  func methods(method: String) throws {
    #expect(try read("\(method) /a HTTP/1.1\r\nHost: postern\r\n\r\n").line.method == method)
  }

  // Catches a request over a Unix socket without a name for it that is rejected.
  @Test("The authority is not the Host's", arguments: [("", ""), ("localhost:", "localhost"), ("[::1]:", "[::1]")])
  func hosts(value: String, host: String) throws {
    #expect(try read("GET /a HTTP/1.1\r\nHost: \(value)\r\n\r\n").host == host)
  }

  // Catches bytes of a program's or a server's field that are replaced.
  @Test("A field in ISO 8859-1 changes on its way in or out")
  func octets() throws {
    let head = try read("GET /a HTTP/1.1\r\nHost: postern\r\nCookie: a=Jos\u{E9}\r\n\r\n")
    let value = try #require(head.forwarded["cookie"])
    #expect(FieldOctets.bytes(value) == Array("a=Jos".utf8) + [0xE9])
    var framing = ResponseFraming(method: "GET", minorVersion: 1, closes: false)
    let sent = try framing.begin(status: 200, fields: ["X": value], length: 0)
    #expect(sent.contains(0xE9) && !sent.contains(0xC3))
  }

  // Catches empty elements that make an error of a list, also where a front sends two lists as one.
  @Test("Empty elements of a list count as something")
  func lists() throws {
    let head = try read(
      "POST /a HTTP/1.1\r\nHost: postern\r\nConnection: ,X-Own,,close ,\r\nX-Own: 1\r\nX: 2\r\n\r\n")
    #expect(head.options == ["x-own", "close"] && head.closes && head.forwarded == ["X": "2"])
  }
}
