import AuthEngine
import EngineTestSupport
import HTTPMessages
import JOSE
import PosternSupport
import PosternTestSupport
import Testing

@Suite("Finding an issuer's key set")
struct KeySetDiscoveryTests {
  @Test("a configured endpoint takes precedence over the metadata, which is not fetched")
  func configured() async throws {
    let server = KeyServer()
    let issuer = try Issuer.testing(endpoints: [.jwks: "https://idp.test/own"])
    _ = try await server.store.source(for: issuer).keySet(in: CallScope())
    #expect(server.transport.requests.map(\.url.path) == ["/own"])
  }

  @Test("a configured endpoint must be https too")
  func configuredInsecure() async throws {
    let server = KeyServer()
    let issuer = try Issuer.testing(endpoints: [.jwks: "http://idp.test/own"])
    #expect(await server.store.source(for: issuer).failure()?.kind == .fetchFailed)
    #expect(server.transport.requests.isEmpty)
  }

  @Test("a new jwks_uri counts once the metadata is refreshed, and gets no entity tag of the old location")
  func moved() async throws {
    let server = KeyServer()
    server.answer(.keys([.first], ("ETag", #""v""#), ("Cache-Control", "max-age=1800")))
    let source = try server.source()
    _ = try await source.keySet(in: CallScope())
    server.state.withLock { $0.jwksURI = "https://keys.test/new" }
    server.answer(.keys([.second], ("ETag", #""v""#)))
    server.clock.advance(by: .seconds(3600))
    #expect(try await source.keyIDs() == ["second"])
    #expect(server.requests.map(\.url.description) == ["https://idp.test/jwks", "https://keys.test/new"])
    #expect(server.requests.map { $0.fields["If-None-Match"] } == [nil, nil])
  }

  @Test(
    "a jwks_uri that is missing, no URL or not https is a fault of the metadata",
    arguments: ["", "jwks", "http://idp.test/jwks", "file:///etc/passwd", "http://127.0.0.1/jwks", "ftp://idp.test/"])
  func unacceptable(uri: String) async throws {
    let server = KeyServer()
    server.state.withLock { $0.jwksURI = uri }
    #expect(await (try server.source()).failure()?.kind == .discoveryFailed)
    #expect(server.requests.isEmpty)
  }

  @Test(
    "another issuer in the metadata, however alike, is reported apart from a metadata that cannot be had",
    arguments: ["https://idp.test/", "https://IDP.test", "https://evil.test", ""])
  func mismatch(identifier: String) async throws {
    let server = KeyServer()
    server.state.withLock { $0.issuer = identifier }
    let error = await (try server.source()).failure()
    #expect(error?.kind == .discoveryIssuerMismatch && error?.isRetryable == false && server.requests.isEmpty)
  }

  @Test("metadata that cannot be had is discovery_failed, with its status, and retryable when the server is")
  func unavailable() async throws {
    let server = KeyServer()
    server.state.withLock { $0.metadataFails = true }
    let error = await (try server.source()).failure()
    #expect(error?.kind == .discoveryFailed && error?.status == 503 && error?.isRetryable == true)
    for _ in 0..<10 { #expect(await (try server.source()).failure()?.kind == .discoveryFailed) }
    #expect(server.transport.requests.count == 1, "callers do not hammer a failing issuer")
  }

  @Test("an outage of the metadata alone does not take the keys away")
  func metadataOutage() async throws {
    let server = KeyServer()
    let source = try server.source()
    _ = try await source.keySet(in: CallScope())
    server.state.withLock { $0.metadataFails = true }
    server.clock.advance(by: .seconds(3600))
    #expect(try await source.keySet(in: CallScope()).isStale == false)
  }

  @Test("the symbols are those of the wire")
  func symbols() {
    #expect(
      KeySetError.Kind.allCases.map(\.code.reason) == [
        "jwks_fetch_failed", "discovery_failed", "discovery_issuer_mismatch", "jwks_invalid", "request_cancelled",
        "deadline_exceeded",
      ])
  }
}
