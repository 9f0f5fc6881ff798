import AuthEngine
import EngineTestSupport
import HTTPMessages
import PosternSupport
import PosternTestSupport
import Testing

/// A key set whose location the metadata changes.
@Suite struct MovedKeySetTests {
  @Test("a set that was moved is found by new metadata; freshly read metadata is not fetched again")
  func moved() async throws {
    let location = Locked("old")
    let clock = ManualClock()
    let transport = ScriptedTransport { request, _ in
      let location = location.withLock { $0 }
      if request.url.path.hasSuffix("openid-configuration") {
        return .json(#"{"issuer":"https://idp.test","jwks_uri":"https://idp.test/\#(location)"}"#)
      }
      guard request.url.path == "/\(location)" else { return .status(404) }
      return .keys([location == "old" ? .first : .second])
    }
    let services = Services.testing(transport, clock: clock)
    let discovery = ProviderDiscovery(services)
    let store = KeySetStore(services, discovery: discovery)
    let source = store.source(for: try .testing(endpoints: [:]))
    let old = try await source.keySet(in: CallScope())
    #expect(old.keyIDs == ["first"])
    location.withLock { $0 = "new" }
    await #expect(throws: KeySetError.self) { try await source.keySet(newerThan: old, in: CallScope()) }
    clock.advance(by: .seconds(31))
    #expect(try await source.keySet(newerThan: old, in: CallScope())?.keyIDs == ["second"])
  }
}
