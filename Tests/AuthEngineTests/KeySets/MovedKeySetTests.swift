import AuthEngine
import HTTPMessages
import PosternSupport
import PosternTestSupport
import Testing

/// A key set whose place the metadata changes.
@Suite struct MovedKeySetTests {
  @Test("a set that is not where it was is found where the metadata says now; freshly read metadata is not doubted")
  func moved() async throws {
    let place = Locked("old")
    let clock = ManualClock()
    let transport = ScriptedTransport { request, _ in
      let place = place.withLock { $0 }
      if request.url.path.hasSuffix("openid-configuration") {
        return .json(#"{"issuer":"https://idp.test","jwks_uri":"https://idp.test/\#(place)"}"#)
      }
      guard request.url.path == "/\(place)" else { return .status(404) }
      return .keys([place == "old" ? .first : .second])
    }
    let discovery = ProviderDiscovery(
      transport: transport, clock: clock, observer: SilentObserver(), userAgent: "postern/test")
    let store = KeySetStore(
      transport: transport, clock: clock, observer: SilentObserver(), userAgent: "postern/test", discovery: discovery)
    let source = store.source(for: try .testing(endpoints: [:]))
    let old = try await source.keySet(deadline: .never)
    #expect(old.keyIDs == ["first"])
    place.withLock { $0 = "new" }
    await #expect(throws: KeySetError.self) { try await source.keySet(newerThan: old, deadline: .never) }
    clock.advance(by: .seconds(31))
    #expect(try await source.keySet(newerThan: old, deadline: .never)?.keyIDs == ["second"])
  }
}
