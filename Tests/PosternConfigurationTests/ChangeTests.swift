import PosternSupport
import Testing

@testable import PosternConfiguration

@Suite("What a reload changes")
struct ChangeTests {
  @Test("Nothing differs from itself, and each top-level key is compared")
  func same() {
    #expect(PosternConfiguration().changedKeys(from: PosternConfiguration()) == [])
    #expect(PosternConfiguration.comparisons.map(\.key) == ConfigurationSchema.root.keys.map(\.name))
  }

  @Test(
    "The keys that differ are named, in the order of the documentation",
    arguments: [
      ("limits: { depth: 5 }", ["limits"]),
      ("log: { level: debug }\nlisten: { path: /a }", ["listen", "log"]),
      ("peers: []", ["peers"]),
      ("issuers: { a: { issuer: \"https://a.example\" } }", ["issuers"]),
      ("limits: { depth: 128 }", []),
    ] as [(String, [String])])
  func changed(yaml: String, keys: [String]) throws {
    #expect(try Fixture(yaml).configuration().changedKeys(from: PosternConfiguration()) == keys)
  }

  /// Would catch a reload after which the proxy's Kerberos fails for no visible reason.
  @Test("Kerberos for the proxy takes a restart, and nothing else about the proxy does")
  func kerberos() throws {
    func outbound(_ keys: String) throws -> PosternConfiguration {
      try Fixture("outbound: { proxy: { url: \"http://proxy.example:3128\"\(keys) } }").configuration()
    }
    let (plain, kerberos) = (try outbound(""), try outbound(", auth: negotiate"))
    #expect(kerberos.keysThatTakeARestart(from: plain) == ["outbound"])
    #expect(plain.keysThatTakeARestart(from: kerberos) == [])
    #expect(plain.keysThatTakeARestart(from: PosternConfiguration()) == [])
  }

  @Test("A secret that was rotated in its file counts, and its value is not shown")
  func rotatedSecret() throws {
    var fixture = Fixture("issuers: { a: { issuer: \"https://a.example\", clientId: a, clientSecretFile: /s } }")
    fixture.files["/s"] = ConfigurationFile(bytes: Array("one".utf8))
    let before = try fixture.configuration()
    #expect(try fixture.configuration().changedKeys(from: before) == [])
    fixture.files["/s"] = ConfigurationFile(bytes: Array("two".utf8))
    #expect(try fixture.configuration().changedKeys(from: before) == ["issuers"])
  }
}
