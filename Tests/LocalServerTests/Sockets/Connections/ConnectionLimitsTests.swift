import Glibc
import Testing

@testable import LocalServer

@Suite("Connection limits", .timeLimit(.minutes(1)))
struct ConnectionLimitsTests {
  @Test("connections are counted in total and by uid, and uncounted")
  func ledger() {
    var ledger = ConnectionLimits(connections: 3, connectionsPerUid: 2)
    #expect(ledger.admit(uid: 1) == .admitted(id: 1))
    #expect(ledger.admit(uid: 1) == .admitted(id: 2))
    #expect(ledger.admit(uid: 1) == .rejected(.connectionsPerUid(limit: 2), lingers: true))
    #expect(ledger.admit(uid: 2) == .admitted(id: 3))
    #expect(ledger.admit(uid: 3) == .rejected(.connections(limit: 3), lingers: true))
    ledger.release(uid: 1)
    #expect(ledger.admit(uid: 3) == .admitted(id: 4), "ids are never used again")
    ledger.release(uid: 2)
    #expect(ledger.admit(uid: 1) == .admitted(id: 5))
    #expect(ledger.total == 3)
  }

  @Test("next to others a uid takes more than three times what is free, or alone not all")
  func shares() {
    var ledger = ConnectionLimits(connections: 16, connectionsPerUid: 16)
    func admitted(_ uid: UInt32) -> Int {
      var count = 0
      while case .admitted = ledger.admit(uid: uid) { count += 1 }
      return count
    }
    #expect(admitted(1) == 16)
    for _ in 0..<8 { ledger.release(uid: 1) }
    #expect(admitted(2) == 6)
    #expect(ledger.admit(uid: 1) == .rejected(.connections(limit: 16), lingers: true))
    #expect(admitted(3) == 2, "there was a connection left for a uid that had none")
  }

  @Test("strangers have few connections, each and all together, and others as many as are configured")
  func strangers() {
    var ledger = ConnectionLimits(connections: 128, connectionsPerUid: 24)
    for id in 1...16 { #expect(ledger.admit(uid: 1, isStranger: true) == .admitted(id: UInt64(id))) }
    #expect(ledger.admit(uid: 1, isStranger: true) == .rejected(.connectionsPerUid(limit: 16), lingers: true))
    for uid in 2..<18 { _ = ledger.admit(uid: UInt32(uid), isStranger: true) }
    #expect(ledger.total == 32)
    #expect(ledger.admit(uid: 99, isStranger: true) == .rejected(.connections(limit: 128), lingers: true))
    for _ in 0..<24 { _ = ledger.admit(uid: 200) }
    #expect(ledger.total == 56)
    #expect(ledger.admit(uid: 200) == .rejected(.connectionsPerUid(limit: 24), lingers: true))
    ledger.release(uid: 1, isStranger: true)
    #expect(ledger.admit(uid: 99, isStranger: true) == .admitted(id: 57))
  }

  @Test(
    "where there are few connections, strangers have as many each, and an endpoint as many, as where there are many",
    arguments: [(1024, 256, 16, 32), (54, 16, 6, 6), (16, 12, 2, 4), (4, 3, 1, 1), (1, 1, 1, 1)])
  func fewConnections(connections: Int, perUid: Int, ofStranger: Int, ofEndpoint: Int) {
    func admitted(_ admit: (inout ConnectionLimits, Int) -> ConnectionLimits.Decision) -> Int {
      var ledger = ConnectionLimits(connections: connections, connectionsPerUid: perUid)
      var count = 0
      while case .admitted = admit(&ledger, count) { count += 1 }
      return count
    }
    #expect(admitted { ledger, _ in ledger.admit(uid: 1, isStranger: true) } == ofStranger)
    #expect(admitted { $0.admit(uid: 1, endpointCount: $1) } == ofEndpoint)
    // All endpoints of a uid together leave some for its main socket.
    #expect(admitted { ledger, _ in ledger.admit(uid: 1, endpointCount: 0) } == max(1, perUid * 3 / 4))
  }

  @Test("a connection that gives its place to another is counted twice, or any number of them may still be open")
  func replaced() {
    var ledger = ConnectionLimits(connections: 4, connectionsPerUid: 2)
    #expect(ledger.admit(uid: 1) == .admitted(id: 1) && ledger.admits(uid: 1))
    #expect(ledger.admit(uid: 1) == .admitted(id: 2) && !ledger.admits(uid: 1))
    for number in 0..<2 * ConnectionLimits.leavingConnections {
      #expect(ledger.manyLeave == (number >= ConnectionLimits.leavingConnections))
      #expect(ledger.replace() == UInt64(3 + number))
    }
    #expect(ledger.replace() == nil && ledger.total == 2)
    ledger.releaseReplaced()
    #expect(ledger.replace() != nil)
    ledger.release(uid: 1)
    #expect(ledger.admits(uid: 1) && ledger.total == 1)
  }

  @Test("turning away costs a bounded number of lingering sockets")
  func lingering() {
    var ledger = ConnectionLimits(connections: 0, connectionsPerUid: 1)
    for _ in 0..<ConnectionLimits.lingeringRejections {
      #expect(ledger.admit(uid: 1) == .rejected(.connections(limit: 0), lingers: true))
    }
    #expect(ledger.admit(uid: 1) == .rejected(.connections(limit: 0), lingers: false))
    ledger.releaseRejection()
    #expect(ledger.admit(uid: 1) == .rejected(.connections(limit: 0), lingers: true))
  }

  @Test(
    "a connection over a limit reads the rejection and the end, and a freed connection is used again",
    arguments: [
      (1, 10, RejectionReason.connections(limit: 1)), (10, 1, .connectionsPerUid(limit: 1)),
    ])
  func rejected(connections: Int, perUid: Int, reason: RejectionReason) async throws {
    try await EchoServer.run {
      $0.limits.connections = connections
      $0.limits.connectionsPerUid = perUid
    } _: { echo in
      let first = try echo.client()
      try await first.send("[1]\n")
      #expect(try await first.line() == "[1]")
      let second = try echo.client()
      // Bytes that it has sent already must not cause a reset before the rejection is read.
      try? await second.send("{\"lost\":1}\n")
      #expect(try await second.rest() == "\"rejected \(reason)\"\n")
      try await first.send("[2]\n")
      #expect(try await first.line() == "[2]", "the admitted one is not disturbed")
      first.close()
      await echo.log.first("closed 1")
      // Uncounted right after the delegate was called; the suite's time limit bounds the wait.
      while echo.server.connectionCount > 0 { await Task.yield() }
      let third = try echo.client()
      try await third.send("[3]\n")
      #expect(try await third.line() == "[3]")
    }
  }

  @Test("a crowd over the limit is all answered and leaves nothing behind")
  func crowd() async throws {
    try await EchoServer.run {
      $0.limits.connections = 2
    } _: { echo in
      let admitted = [try echo.client(), try echo.client()]
      for client in admitted {
        try await client.send("[1]\n")
        _ = try await client.line()
      }
      let crowd = try (0..<150).map { _ in try echo.client() }
      for client in crowd { #expect(try await client.rest() == "\"rejected connections(limit: 2)\"\n") }
      for client in admitted {
        try await client.send("[2]\n")
        #expect(try await client.line() == "[2]")
      }
      #expect(echo.server.connectionCount == 2)
    }
  }
}
