import JOSE
import PosternJSON
import Testing

@Suite("JWK Sets: import")
struct JWKSetTests {
  static func entry(_ key: JWK, _ change: (inout JSONObject) -> Void = { _ in }) throws -> JSONValue {
    var json = try #require(key.publicJSON())
    change(&json)
    return .object(json)
  }

  static func set(_ entries: [JSONValue], _ origin: JWKSet.Origin = .remote) throws -> JWKSet {
    try JWKSet(text: JSONWriter().write(["keys": .array(entries)]), origin: origin)
  }

  @Test("An unusable entry is skipped with its reason, and the others stay usable")
  func unusableEntries() throws {
    let entries: [(JSONValue, JOSEError.Code)] = [
      (["kty": "AKP", "alg": "ML-DSA-44", "pub": "AA", "kid": "pq"], .algNotSupported),
      (["kty": "EC", "crv": "P-999", "x": "AA", "y": "AA"], .algNotSupported),
      (["kty": "EC", "crv": "P-256", "x": "AA", "y": "AA"], .invalidKey),
      ("x", .invalidKey), (.null, .invalidKey), ([], .invalidKey), ([:], .invalidKey),
      (try Self.entry(TestKeys.rsa) { $0["e"] = "AQ" }, .weakKey),
      (.object(try TestKeys.p384.privateJSONRevealingSecrets()), .invalidKey),
      (.object(try TestKeys.secret.privateJSONRevealingSecrets()), .invalidKey),
    ]
    let set = try Self.set(entries.map(\.0) + [Self.entry(TestKeys.p256)])
    #expect(set.keys.map(\.keyID) == ["p256"])
    #expect(set.rejected.map(\.index) == Array(entries.indices))
    #expect(set.rejected.map(\.reason.code) == entries.map(\.1))
    #expect(set.rejected.first?.keyID == "pq")
    #expect(set.rejected.filter(\.isIgnored).map(\.index) == [9])
  }

  @Test(
    "Each private member alone gets a published key rejected", arguments: ["d", "p", "q", "dp", "dq", "qi", "oth", "k"])
  func privateMembers(_ name: String) throws {
    let entry = try Self.entry(TestKeys.rsa) { $0[name] = "AQAB" }
    let set = try Self.set([entry])
    #expect(set.keys.isEmpty)
    #expect(set.rejected.first?.reason.code == .invalidKey)
    #expect(set.rejected.first?.reason.claim == name)
  }

  @Test("A local set may have private or symmetric keys, but never both symmetric and asymmetric ones")
  func mixture() throws {
    let secret = JSONValue.object(try TestKeys.secret.privateJSONRevealingSecrets())
    let pair = JSONValue.object(try TestKeys.p256.privateJSONRevealingSecrets())
    #expect(try Self.set([secret], .local).keys.count == 1)
    #expect(try Self.set([pair], .local).keys.first?.material.isSecret == true)
    expectError(.jwksInvalid) { try Self.set([secret, pair], .local) }
    // Unusable entries count too: what they would have been is not known.
    expectError(.jwksInvalid) { try Self.set([secret, ["kty": "AKP"]], .local) }
    #expect(try Self.set([secret, Self.entry(TestKeys.p256)], .remote).keys.count == 1)
  }

  @Test(
    "A text that is no key set is rejected as a whole",
    arguments: [
      "", "x", "[]", "{}", #"{"keys":{}}"#, #"{"keys":null}"#, #"{"keys":[]}x"#, #"{"keys":[],"keys":[]}"#,
      #"{"keys":[],"\u006beys":[]}"#,
    ])
  func malformed(_ text: String) {
    expectError(.jwksInvalid) { try JWKSet(text: Array(text.utf8), origin: .remote) }
  }

  @Test("Size, number of keys and nesting are bounded")
  func limits() throws {
    let text = JSONWriter().write(["keys": .array([try Self.entry(TestKeys.p256), try Self.entry(TestKeys.p384)])])
    func load(_ limits: JWKSet.Limits) throws -> JWKSet { try JWKSet(text: text, origin: .remote, limits: limits) }
    #expect(try load(.init(maxBytes: text.count, maxKeys: 2)).keys.count == 2)
    expectError(.jwksInvalid) { try load(.init(maxBytes: text.count - 1)) }
    expectError(.jwksInvalid) { try load(.init(maxKeys: 1)) }
    let deep = #"{"keys":"# + String(repeating: "[", count: 1000) + String(repeating: "]", count: 1000) + "}"
    expectError(.jwksInvalid) { try JWKSet(text: Array(deep.utf8), origin: .remote) }
  }

  @Test("An empty set is accepted, and members other than keys are ignored")
  func empty() throws {
    #expect(try JWKSet(text: Array(#"{"keys":[],"x":1}"#.utf8), origin: .remote).keys.isEmpty)
  }

  @Test("What is published holds the public halves only")
  func publication() throws {
    let json = JWKSet([TestKeys.rsa, TestKeys.p256, TestKeys.secret]).publicJSON()
    let set = try JWKSet(json: .object(json), origin: .remote)
    #expect(set.keys.map(\.keyID) == ["rsa", "p256"] && set.rejected.isEmpty)
  }
}
