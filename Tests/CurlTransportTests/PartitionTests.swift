import CurlTransport
import HTTPMessages
import PosternSupport
import Testing

/// A server that ignores the body of a request reads it as another request. Its response comes where that to the next
/// request over the connection is expected, from whomever.
@Suite("No kept connection crosses a narrowing", .timeLimit(.minutes(3)))
struct PartitionTests {
  /// Responds with the target, to bodies as well; to a hidden request when the next one has come.
  @Sendable private static func ignoreBodies(_ connection: RawConnection) {
    var waiting = ""
    while let target = connection.readTargetIgnoringBody() {
      guard target != "/hidden" else {
        waiting += ok(target)
        continue
      }
      connection.send(waiting + ok(target))
      waiting = ""
    }
  }

  private static func options(_ uid: UInt32, _ narrowing: String?, _ user: String?) -> TransferOptions {
    .testing {
      $0.peerID = PeerID(uid: uid, connection: 1)
      $0.partition = ConnectionPartition(narrowing: narrowing, user: user.map { Secret($0) })
    }
  }

  static let others: [(uid: UInt32, narrowing: String?, user: String?)] = [
    (1001, nil, "alice"), (1001, "endpoint-2", "alice"), (1001, "endpoint-1", "bob"), (1001, "endpoint-1", nil),
    (1002, "endpoint-1", "alice"),
  ]

  @Test(
    "the response to a body that is a request reaches another level, user or uid", arguments: others,
    ["POST", "PUT", "PATCH"])
  func hiddenRequest(other: (uid: UInt32, narrowing: String?, user: String?), method: String) async throws {
    try await withServer(script: Self.ignoreBodies) { server, transport in
      let body = Array("GET /hidden HTTP/1.1\r\nHost: x\r\n\r\n".utf8)
      for number in 0..<4 {
        // After the first time the response may be that to its own body.
        _ = try await transport.send(
          method, server.url("/first"), body: body, options: Self.options(1001, "endpoint-1", "alice"))
        let next = try await transport.send(
          number % 2 == 0 ? "GET" : "POST", server.url("/next/\(number)"), body: number % 2 == 0 ? nil : [0x0D, 0x0A],
          options: Self.options(other.uid, other.narrowing, other.user))
        #expect(next.text == "/next/\(number)")
      }
    }
  }

  @Test("requests without a body leave a connection for all users of a level, or those with one do")
  func sharing() async throws {
    try await withServer {
      $0.serve { ok($0.target) }
    } _: { server, transport in
      func send(_ method: String, _ narrowing: String?, _ user: String?) async throws {
        let response = try await transport.send(
          method, server.url("/x"), body: method == "POST" ? [1] : nil, options: Self.options(1001, narrowing, user))
        #expect(response.text == "/x")
      }
      for user in ["alice", "bob", "alice", "carol"] { try await send("GET", nil, user) }
      #expect(server.accepted == 1)
      for user in ["alice", "bob", "alice", "bob"] { try await send("POST", nil, user) }
      #expect(server.accepted == 3)
      for method in ["GET", "POST", "GET"] { try await send(method, nil, nil) }
      #expect(server.accepted == 4)
      for user in ["alice", "bob", nil] { try await send("GET", "endpoint-1", user) }
      #expect(server.accepted == 6)
      // An empty body is none.
      _ = try await transport.send("POST", server.url("/x"), body: [], options: Self.options(1001, nil, "dave"))
      #expect(server.accepted == 6)
    }
  }

  @Test("a uid that makes any number of endpoints keeps more connections than its share, or loses its newest")
  func manyEndpoints() async throws {
    try await withServer(configuration: .testing { $0.maxConnectionsPerHost = 4 }) {
      $0.serve { ok($0.target) }
    } _: { server, transport in
      let neighbour = Self.options(1002, nil, nil)
      _ = try await transport.send(server.url("/neighbour"), options: neighbour)
      for number in 0..<20 {
        _ = try await transport.send(server.url("/\(number)"), options: Self.options(1001, "endpoint-\(number)", nil))
      }
      await until { server.open <= 5 }
      let accepted = server.accepted
      #expect(accepted == 21)
      for number in 16..<20 {
        _ = try await transport.send(server.url("/\(number)"), options: Self.options(1001, "endpoint-\(number)", nil))
      }
      _ = try await transport.send(server.url("/neighbour"), options: neighbour)
      #expect(server.accepted == accepted, "those that were used last are kept, the neighbour's is")
    }
  }
}
