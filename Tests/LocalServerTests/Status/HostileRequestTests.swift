import Glibc
import PosternSupport
import PosternTestSupport
import Testing

@testable import LocalServer

@Suite("Hostile requests", .timeLimit(.minutes(1)))
struct HostileRequestTests {
  private static let good = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"

  @Test(
    "malformed HTTP is answered twice, with a page, or by a crash",
    arguments: [
      ("\u{0}\u{1}\u{2}\u{3}", [400]),
      ("GET / HTTP/9.9\r\n\r\n", [400]),
      ("GET /" + String(repeating: "a", count: 100_000) + " HTTP/1.1\r\n\r\n", [400]),
      ("GET / HTTP/1.1\r\n" + String(repeating: "A: b\r\n", count: 10_000) + "\r\n", [400]),
      ("GET /healthz HTTP/1.1\r\nHost: a\r\nHost: localhost\r\n\r\n", [400]),
      ("GET /healthz HTTP/1.1\r\n", [400]),
      ("POST /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9999999999\r\n\r\nx", [413]),
      ("POST /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\n", [413]),
      ("POST /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n", [400]),
      ("POST /healthz HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", [413]),
      ("POST /healthz HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\nzz\r\n", [413]),
      (good + "\u{0}\u{0}", [200, 400]),
      (good + good + "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nxy", [200, 200, 413]),
    ] as [(String, [Int])])
  func hostile(sent: String, expected: [Int]) async throws {
    let server = try await HTTPStatusServer.start(on: "127.0.0.1:0") { _ in .text(200, "well") }
    for _ in 0..<20 {
      let statuses = try Self.statuses(of: sent, at: server.port)
      // A connection that ends with bytes unread is reset, which may take the answer along.
      #expect(statuses.isEmpty || expected.starts(with: statuses), "\(statuses)")
    }
    #expect(try Self.statuses(of: Self.good, at: server.port) == [200])
    await server.close()
  }

  @Test("a client that closes its side gets no response, or its connection stays open")
  func halfClosed() async throws {
    let server = try await HTTPStatusServer.start(on: "127.0.0.1:0") { path in
      await Task.yield()
      return path == "/healthz" ? .text(200, "well") : nil
    }
    let missing = Self.good.replacing("healthz", with: "nothing")
    for (sent, expected) in [
      (Self.good, [200]), (missing, [404]), (Self.good + missing + Self.good, [200, 404, 200]), ("", []),
      (Self.good.replacing("GET", with: "HEAD"), [200]), (Self.good.replacing("GET", with: "PUT"), [405]),
    ] as [(String, [Int])] {
      for _ in 0..<20 { #expect(try Self.statuses(of: sent, at: server.port) == expected) }
    }
    await server.close()
  }

  /// The status codes of what comes back for `text`, behind which nothing follows.
  private static func statuses(of text: String, at port: Int) throws -> [Int] {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(descriptor) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = in_port_t(port).bigEndian
    address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
    let isConnected = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
      }
    }
    try #require(isConnected)
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
      guard count > 0 else { break }
      rest = rest.dropFirst(count)
    }
    shutdown(descriptor, Int32(SHUT_WR))
    var answer: [UInt8] = []
    var block = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = recv(descriptor, &block, block.count, 0)
      guard count > 0 else { break }
      answer += block[..<count]
    }
    return String(decoding: answer, as: UTF8.self).matches(of: #/HTTP/1\.1 (\d+) /#).compactMap { Int($0.1) }
  }
}
