import PosternJSON
import Testing

@testable import Playground

/// The misbehaving server: each fault is on the wire as documented.
@Suite struct MisbehaviourTests {
  private static func ask(_ upstream: Upstream, _ path: String, times: Int = 1) async throws -> String {
    let port = try #require(upstream.server.misbehavingURL.split(separator: ":").last.flatMap { Int($0) })
    let request = "POST /\(path) HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi"
    let received = try await RawHTTP.exchange(port: port, Array(String(repeating: request, count: times).utf8))
    return String(decoding: received, as: UTF8.self)
  }

  @Test("the announcement has its address")
  func announced() async throws {
    try await Upstream.run { upstream in
      let announcement = try JSONParser().parse(upstream.server.announcement)
      #expect(announcement["misbehaving"]?.stringValue == upstream.server.misbehavingURL)
    }
  }

  static let answers: [(String, String)] = [
    ("close", ""), ("closeHead", "HTTP/1.1 200 OK\r\nContent-Ty"), ("http09", "<html>hello</html>"),
    ("noLength", "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nhello"),
    ("closeBody", "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 10\r\n\r\nhello"),
    ("http10", "HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\nhello"),
  ]

  @Test("what ends a connection is on the wire as described", arguments: answers)
  func ends(row: (String, String)) async throws {
    try await Upstream.run { upstream in
      let received = try await Self.ask(upstream, row.0)
      #expect(received == row.1)
      let count = try await upstream.counter("misbehavingRequests")
      #expect(count == 1)
    }
  }

  @Test("requests on one connection are answered one after the other, until the one that is met with a close")
  func kept() async throws {
    try await Upstream.run { upstream in
      let received = try await Self.ask(upstream, "closeKept", times: 3)
      #expect(received.components(of: "HTTP/1.1 200") == 1)
      #expect(try await upstream.counter("misbehavingRequests") == 2)
    }
  }

  @Test("a client that starts TLS gets an alert")
  func alert() async throws {
    try await Upstream.run { upstream in
      let port = try #require(upstream.server.misbehavingURL.split(separator: ":").last.flatMap { Int($0) })
      #expect(try await RawHTTP.exchange(port: port, [0x16, 3, 1, 0, 5, 1, 0, 0, 1, 0]) == [0x15, 3, 3, 0, 2, 2, 40])
    }
  }

  @Test(
    "a server that stalls does not delay the playground's end", arguments: ["stall", "stallBody", "bomb", "drip"])
  func stops(path: String) async throws {
    try await Upstream.run { upstream in
      let port = try #require(upstream.server.misbehavingURL.split(separator: ":").last.flatMap { Int($0) })
      let seen = Counted(upstream)
      try await RawHTTP.abandon(port: port, "GET /\(path) HTTP/1.1\r\n\r\n") { seen.isThere }
    }
  }

  /// Whether a request has been counted; for another thread.
  private struct Counted {
    let server: PlaygroundServer
    init(_ upstream: Upstream) { server = upstream.server }
    var isThere: Bool { server.statistics.snapshot.misbehavingRequests > 0 }
  }
}

extension String {
  fileprivate func components(of part: String) -> Int {
    split(separator: part, omittingEmptySubsequences: false).count - 1
  }
}
