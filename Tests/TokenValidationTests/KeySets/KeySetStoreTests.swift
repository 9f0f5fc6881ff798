import AuthEngine
import EngineTestSupport
import HTTPMessages
import JOSE
import PosternSupport
import PosternTestSupport
import Testing

@Suite("The store of key sets")
struct KeySetStoreTests {
  @Test("equal configurations share a source; a difference in any part makes another")
  func identity() throws {
    let store = KeyServer().store
    let source = store.source(for: try .testing())
    #expect(store.source(for: try .testing()) === source)
    #expect(store.source(for: try .testing(clientID: "other")) !== source)
    #expect(store.source(for: try .testing(identifier: "https://idp.test/")) !== source)
    #expect(store.source(for: try .testing(allowsPlainHTTPOnLoopback: true)) !== source)
    #expect(store.source(for: try .testing(), policy: KeySetPolicy(cooldown: .seconds(1))) !== source)
    let url = try HTTPURL("https://idp.test/jwks")
    let located = store.source(at: url)
    #expect(store.source(at: url) === located)
    #expect(store.source(at: url, access: ServerAccess(tls: TLSSettings(caFile: "/ca.pem"))) !== located)
    #expect(store.source(at: url, access: ServerAccess(plainHTTP: PlainHTTPRule(allowsLoopback: true))) !== located)
    #expect(store.source(at: try HTTPURL("https://idp.test/jwks?x")) !== located)
  }

  @Test("URLs that callers name never push out a configured issuer's keys, and their number is bounded")
  func bounded() async throws {
    let server = KeyServer()
    let source = try server.source()
    let first = server.store.source(at: try HTTPURL("https://0.keys.test/"))
    for index in 1...200 { _ = server.store.source(at: try HTTPURL("https://\(index).keys.test/")) }
    #expect(try server.source() === source)
    #expect(server.store.source(at: try HTTPURL("https://0.keys.test/")) !== first)
  }

  @Test("sequences are never used twice, even by a source that was dropped and made again")
  func sequences() async throws {
    let server = KeyServer()
    let old = try await server.store.source(at: HTTPURL("https://keys.test/")).keySet(in: CallScope())
    for index in 1...64 { _ = server.store.source(at: try HTTPURL("https://\(index).keys.test/")) }
    let new = try await server.store.source(at: HTTPURL("https://keys.test/")).keySet(in: CallScope())
    #expect(new.sequence > old.sequence)
  }

  @Test("health names each issuer once, with the age of its keys and the last error")
  func ages() async throws {
    let server = KeyServer()
    #expect(server.store.ages().isEmpty)
    let source = try server.source()
    let unasked = try #require(server.store.ages().first)
    #expect(unasked.issuer == "corp" && unasked.age == nil && !unasked.isUsable && unasked.lastError == nil)
    _ = try await source.keySet(in: CallScope())
    _ = try await server.store.source(at: HTTPURL("https://keys.test/")).keySet(in: CallScope())
    server.clock.advance(by: .seconds(300))
    server.answer(.status(500))
    _ = try await source.keySet(in: CallScope())
    let stale = try #require(server.store.ages().first)
    #expect(stale.age == .seconds(300) && stale.keyCount == 1 && stale.isExpired && stale.isUsable)
    #expect(stale.lastError?.status == 500)
    server.clock.advance(by: .seconds(3600))
    #expect(server.store.ages().first?.isUsable == false)
    _ = server.store.source(for: try .testing(clientID: "reloaded"))
    #expect(server.store.ages().map(\.issuer) == ["corp"] && server.store.ages().first?.age == nil)
  }

  @Test("metrics and events name an issuer, or a bounded name: never a caller's path or query")
  func names() async throws {
    let server = KeyServer()
    let source = server.store.source(at: try HTTPURL("https://keys.test/a?secret"))
    _ = try await source.keySet(in: CallScope())
    #expect(source.name.description == "https://keys.test/a")
    #expect(try server.source().name.description == "corp")
    guard case .exchange(let exchange)? = server.exchanges.events.first else {
      Issue.record("no exchange was reported of")
      return
    }
    #expect(exchange.purpose == .keySet("https://keys.test"))
  }

  @Test("the call of the seed takes the location of the keys, under all of the store's rules")
  func seedShape() async throws {
    let server = KeyServer()
    let verdict = try await IDTokenValidator(clock: server.clock).validate(
      idTokenString: "eyJhbGciOiJFZERTQSJ9.e30.AAAA", authorizationCode: nil, clientID: "shop", nonce: "n",
      jwksURL: HTTPURL("https://keys.test/jwks"), keySets: server.store,
      configuration: IDTokenConfiguration(issuer: "https://idp.test", algorithms: [.edDSA]))
    #expect(verdict.fault?.code.rawValue == "bad_signature")
    #expect(server.requests.map { "\($0.url)" } == ["https://keys.test/jwks"])
  }
}
