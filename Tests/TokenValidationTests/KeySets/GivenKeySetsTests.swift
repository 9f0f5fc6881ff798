import EngineTestSupport
import JOSE
import PosternJSON
import PosternSupport
import PosternTestSupport
import Testing
import TokenValidation

@Suite("Keys that callers pass along")
struct GivenKeySetsTests {
  private static let key: JSONValue = [
    "kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
  ]

  /// A set that no other `name` has.
  private static func set(_ name: String) -> JSONValue { ["keys": [Self.key], "name": .string(name)] }

  private func onlyKey(_ sets: GivenKeySets, _ json: JSONValue, of uid: UInt32) throws -> JWK {
    try #require(try sets.set(json, of: uid).keys.keys.first)
  }

  @Test("a set that was passed before is imported again, or is taken for cheap the first time")
  func imported() throws {
    let sets = GivenKeySets()
    let first = try sets.set(Self.set("a"), of: 1)
    let second = try sets.set(Self.set("a"), of: 1)
    #expect(first.keys.keys[0] === second.keys.keys[0])
    #expect(!first.isCheap && second.isCheap && sets.count == 1)
  }

  @Test("a user gets what another one passed, or a set that differs in any member")
  func separate() throws {
    let sets = GivenKeySets()
    let own = try onlyKey(sets, Self.set("a"), of: 1)
    #expect(try onlyKey(sets, Self.set("a"), of: 2) !== own)
    #expect(try onlyKey(sets, Self.set("b"), of: 1) !== own)
    let renamed: JSONValue = ["keys": [["kty": "OKP", "crv": "Ed25519", "kid": "k", "x": Self.key["x"] ?? .null]]]
    #expect(try onlyKey(sets, renamed, of: 1).keyID == "k")
    #expect(try onlyKey(sets, Self.set("a"), of: 1) === own)
  }

  @Test("a user who passes very many sets displaces another's, or takes memory without end")
  func bounded() throws {
    let sets = GivenKeySets(capacity: 8)
    let own = try onlyKey(sets, Self.set("own"), of: 1)
    for number in 0..<100 { _ = try sets.set(Self.set("\(number)"), of: 2) }
    #expect(sets.count == 8)
    #expect(try onlyKey(sets, Self.set("own"), of: 1) === own)
    let small = GivenKeySets(maxBytes: 32 << 10)
    for number in 0..<100 { _ = try small.set(Self.set("\(number)"), of: 2) }
    #expect(small.count < 8)
  }

  @Test(
    "a set with a secret in it, or a huge one, is kept",
    arguments: [
      ["keys": [["kty": "oct", "k": "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"]]],
      [
        "keys": [
          [
            "kty": "OKP", "crv": "Ed25519", "d": "nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A",
            "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
          ]
        ]
      ],
      ["keys": [], "more": .string(String(repeating: "x", count: 1 << 20))],
    ] as [JSONValue])
  func notKept(json: JSONValue) throws {
    let sets = GivenKeySets()
    for _ in 0..<2 { #expect(try !sets.set(json, of: 1).isCheap) }
    #expect(sets.count == 0)
  }

  @Test("a bad set is another error, or none, the second time")
  func invalid() {
    let sets = GivenKeySets()
    let bad: [JSONValue] = [[:], ["keys": "x"], ["keys": [Self.key, ["kty": "oct", "k": "AAAA"]]]]
    for json in bad {
      let first = #expect(throws: JOSEError.self) { try sets.set(json, of: 1) }
      let second = #expect(throws: JOSEError.self) { try sets.set(json, of: 1) }
      let plain = #expect(throws: KeySetError.self) { try StaticJWKSet(json: json) }
      #expect(first?.code == .jwksInvalid && first?.message == second?.message && first?.message == plain?.detail)
    }
    #expect(sets.count == 0)
  }

  @Test("a large key that was kept is verified with where connections are served")
  func large() throws {
    let sets = GivenKeySets()
    // Only its size matters: 8192 bits, odd.
    let modulus = Base64URL.string([UInt8](repeating: 0xff, count: 1024))
    let json: JSONValue = ["keys": [["kty": "RSA", "e": "AQAB", "n": .string(modulus)]]]
    for _ in 0..<2 { #expect(try !sets.set(json, of: 1).isCheap) }
    #expect(sets.count == 1)
  }
}
