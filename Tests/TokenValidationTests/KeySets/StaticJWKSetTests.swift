import AuthEngine
import EngineTestSupport
import JOSE
import PosternSupport
import Testing

@Suite("Keys that are handed in")
struct StaticJWKSetTests {
  private static let symmetric = #"{"kty":"oct","kid":"s","k":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}"#

  private func set(_ keys: [String]) -> [UInt8] { Array(#"{"keys":[\#(keys.joined(separator: ","))]}"#.utf8) }

  @Test("they are served as they are and never replaced")
  func serves() async throws {
    let source = try StaticJWKSet(text: set([PublishedKey.first.text, PublishedKey.second.text]))
    let snapshot = try await source.keySet(in: CallScope())
    #expect(snapshot.keyIDs == ["first", "second"] && snapshot.sequence == 0 && !snapshot.isStale)
    #expect(try await source.keySet(newerThan: snapshot, in: CallScope()) == nil)
  }

  @Test("a set that mixes symmetric and asymmetric keys is rejected whole, whatever the order")
  func mixture() {
    for keys in [[Self.symmetric, PublishedKey.first.text], [PublishedKey.first.text, Self.symmetric]] {
      let error = #expect(throws: KeySetError.self) { try StaticJWKSet(text: set(keys)) }
      #expect(error?.kind == .invalid && error?.isRetryable == false)
    }
    #expect(throws: Never.self) { try StaticJWKSet(text: set([Self.symmetric, Self.symmetric])) }
  }

  @Test(
    "what is no set is jwks_invalid",
    arguments: ["", "[]", "{}", #"{"keys":{}}"#, #"{"keys":[]"#, #"{"keys":[],"k\u0065ys":[]}"#])
  func invalid(text: String) {
    let error = #expect(throws: KeySetError.self) { try StaticJWKSet(text: Array(text.utf8)) }
    #expect(error?.kind == .invalid)
  }

  @Test("too many keys are rejected")
  func count() {
    let keys = Array(repeating: PublishedKey.first.text, count: 101)
    #expect(throws: KeySetError.self) { try StaticJWKSet(text: set(keys)) }
  }

  @Test("an entry that cannot be used does not cost the others")
  func unusableEntry() async throws {
    let source = try StaticJWKSet(text: set([#"{"kty":"AKP"}"#, PublishedKey.first.text]))
    #expect(try await source.keySet(in: CallScope()).keyIDs == ["first"])
  }
}
