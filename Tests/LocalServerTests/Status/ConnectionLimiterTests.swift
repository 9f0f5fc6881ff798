import Glibc
import PosternTestSupport
import Testing

@testable import LocalServer

@Suite("The status listener's connections", .timeLimit(.minutes(1)))
struct ConnectionLimiterTests {
  @Test("a client that opens very many connections has one closed whose response is being made")
  func busyConnectionStays() async throws {
    let gate = Gate()
    let server = try await HTTPStatusServer.start(on: "127.0.0.1:0") { path in
      if path == "/slow" { await gate.pass() }
      return .text(200, "well")
    }
    let patient = try Self.connection(to: server.port, sending: "GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n")
    #expect(await eventually { gate.waiterCount == 1 })
    var others: [Int32] = []
    for _ in 0..<(3 * HTTPStatusServer.Limits.connections) {
      others.append(try Self.connection(to: server.port, sending: ""))
    }
    // The last of them is there, and so were all before it.
    others.append(try Self.connection(to: server.port, sending: "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"))
    #expect(Self.start(of: others[others.count - 1]) == "HTTP/1.1 200")
    gate.open()
    #expect(Self.start(of: patient) == "HTTP/1.1 200")
    for descriptor in others + [patient] { close(descriptor) }
    await server.close()
  }

  private static func connection(to port: Int, sending text: String) throws -> Int32 {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
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
    let bytes = Array(text.utf8)
    #expect(bytes.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) } == bytes.count)
    return descriptor
  }

  /// The first bytes of an answer.
  private static func start(of descriptor: Int32) -> String {
    var bytes = [UInt8](repeating: 0, count: 12)
    let count = recv(descriptor, &bytes, bytes.count, Int32(MSG_WAITALL))
    return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
  }
}
