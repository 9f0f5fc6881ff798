import Glibc
import Testing

@testable import CurlTransport

@Suite("Position of a request in the stream", .timeLimit(.minutes(1)))
struct RequestMarkTests {
  @Test("a response that is there before the request has arrived is distinguished from one that is not")
  func order() async throws {
    let (listener, port) = try Loopback.listen(backlog: 1)
    let client = try #require(Loopback.connect(port: port))
    let server = accept(listener, nil, nil)
    defer { for descriptor in [listener, client, server] { close(descriptor) } }
    for round in 0..<3 {
      let mark = try #require(RequestMark(nextOn: client))
      #expect(send(server, "stray", 5, 0) == 5)
      var bytes = [UInt8](repeating: 0, count: 16)
      #expect(recv(client, &bytes, 16, 0) == 5)
      #expect(!mark.hasArrived, "round \(round)")
      #expect(send(client, "request", 7, 0) == 7)
      #expect(recv(server, &bytes, 16, 0) == 7)
      // What the server sends from now on acknowledges what it has read.
      #expect(send(server, "answer", 6, 0) == 6)
      #expect(recv(client, &bytes, 16, 0) == 6)
      #expect(mark.hasArrived, "round \(round)")
    }
  }

  @Test("where the kernel does not count there is no mark")
  func noTCP() throws {
    var ends: [Int32] = [0, 0]
    #expect(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
    defer { for descriptor in ends { close(descriptor) } }
    #expect(RequestMark(nextOn: ends[0]) == nil)
  }
}
