import Playground
import PlaygroundTestSupport
import PosternJSON
import Testing

@Suite struct StartTests {
  @Test(
    "The playground listens on loopback only: anything else would hand tokens to the network",
    arguments: [
      "0.0.0.0", "::", "192.0.2.1", "10.0.0.1", "example.com", "", "127.0.0.1.evil.example", "::ffff:127.0.0.1",
      "128.0.0.1",
    ])
  func notLoopback(host: String) async {
    await #expect(throws: PlaygroundError.notLoopback(host)) {
      _ = try await PlaygroundServer.start(PlaygroundConfiguration(host: host))
    }
  }

  @Test("Loopback addresses are taken and named in the issuer", arguments: ["127.0.0.1", "localhost", "127.0.0.2"])
  func loopback(host: String) async throws {
    let server = try await PlaygroundServer.start(PlaygroundConfiguration(host: host))
    #expect(server.baseURL.hasPrefix("http://127.0.0."))
    #expect(server.issuer == server.baseURL + "/oidc")
    let announcement = try JSONParser().parse(server.announcement)
    #expect(announcement["baseUrl"]?.stringValue == server.baseURL)
    #expect(announcement["issuer"]?.stringValue == server.issuer)
    #expect(!server.announcement.contains("\n"))
    await server.stop()
    await server.stop()
  }

  @Test("A port that is taken or impossible, and a lifetime out of range, are reported as such")
  func impossible() async throws {
    try await Upstream.run { upstream in
      await #expect(throws: PlaygroundError.self) {
        _ = try await PlaygroundServer.start(PlaygroundConfiguration(port: upstream.port))
      }
    }
    for port in [-1, 65_536] {
      await #expect(throws: PlaygroundError.portOutOfRange(port)) {
        _ = try await PlaygroundServer.start(PlaygroundConfiguration(port: port))
      }
    }
    for lifetime in [Duration.zero, .milliseconds(999), .seconds(Int64.max)] {
      await #expect(throws: PlaygroundError.lifetimeOutOfRange) {
        _ = try await PlaygroundServer.start(PlaygroundConfiguration(accessTokenLifetime: lifetime))
      }
    }
  }

  @Test("Stopping ends answers under way instead of waiting for them", .timeLimit(.minutes(1)))
  func stopWhileBusy() async throws {
    try await Upstream.run { upstream in
      let request = Array("GET /open/slow?ms=60000 HTTP/1.1\r\nHost: x\r\n\r\n".utf8)
      async let answer = RawHTTP.exchange(port: upstream.port, request)
      while upstream.clock.sleeperCount == 0 { await Task.yield() }
      await upstream.server.stop()
      let received = try await answer
      #expect(received.isEmpty)
    }
  }
}
