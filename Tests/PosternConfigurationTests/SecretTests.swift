import PosternConfiguration
import PosternSupport
import Testing

@Suite("Secrets")
struct SecretTests {
  private static func issuer(_ keys: String) -> String {
    "issuers: { corp: { issuer: \"https://a.example\", clientId: shop, \(keys) } }"
  }

  private static func secret(_ fixture: Fixture) throws -> ConfiguredSecret<String>? {
    try fixture.configuration().issuers["corp"]?.clientSecret
  }

  @Test(
    "One line feed at the end of a secret file is not part of the secret",
    arguments: [("s3cret", "s3cret"), ("s3cret\n", "s3cret"), ("s3cret\r\n", "s3cret"), (" s3cret ", " s3cret ")])
  func trailingNewline(content: String, secret: String) throws {
    let fixture = Fixture(Self.issuer("clientSecretFile: /run/secrets/shop"), files: ["/run/secrets/shop": content])
    #expect(try Self.secret(fixture)?.value.reveal() == secret)
    #expect(fixture.warnings == [])
  }

  @Test(
    "An empty, missing, broken or oversized secret file is a problem that names the file, not its content",
    arguments: [
      ("", "/run/secrets/shop: the secret is empty"), ("\n", "/run/secrets/shop: the secret is empty"),
      (
        "a\n\n",
        "the secret contains a line break or another control character (one line feed at its end is allowed for)"
      ),
      (
        "a\0b",
        "the secret contains a line break or another control character (one line feed at its end is allowed for)"
      ),
    ])
  func badFile(content: String, message: String) {
    let fixture = Fixture(Self.issuer("clientSecretFile: /run/secrets/shop"), files: ["/run/secrets/shop": content])
    #expect(fixture.problems == ["1:83: issuers.corp.clientSecretFile: \(message)"])
  }

  @Test("A secret file that is not there, or is not UTF-8, or is too long, is a problem")
  func unreadable() {
    var fixture = Fixture(Self.issuer("clientSecretFile: /run/secrets/shop"))
    #expect(fixture.problems == ["1:83: issuers.corp.clientSecretFile: /run/secrets/shop: there is no such file"])
    fixture.files["/run/secrets/shop"] = ConfigurationFile(bytes: [0xFF, 0xFE])
    #expect(fixture.problems == ["1:83: issuers.corp.clientSecretFile: the secret is not UTF-8 text"])
    fixture.files["/run/secrets/shop"] = ConfigurationFile(bytes: [UInt8](repeating: 0x61, count: 70_000))
    #expect(fixture.problems == ["1:83: issuers.corp.clientSecretFile: /run/secrets/shop: the file is too large"])
  }

  @Test(
    "A secret file that every user can read warns, one that the group can read does not",
    arguments: [(0o644, 1), (0o640, 0), (0o600, 0), (0o604, 1)])
  func permissions(mode: UInt32, warnings: Int) {
    var fixture = Fixture(Self.issuer("clientSecretFile: /run/secrets/shop"))
    fixture.files["/run/secrets/shop"] = ConfigurationFile(bytes: Array("x".utf8), permissions: mode)
    #expect(fixture.warnings.count == warnings)
    #expect(
      fixture.warnings.allSatisfy { $0.contains("issuers.corp.clientSecretFile: the file is readable by every user") })
  }

  @Test("A relative path of a secret is a credential's name first, and else relative to the configuration")
  func credentialsDirectory() throws {
    var fixture = Fixture(
      Self.issuer("clientSecretFile: shop"),
      files: ["/etc/postern/shop": "local", "/run/credentials/postern.service/shop": "credential"])
    #expect(try Self.secret(fixture)?.value.reveal() == "local")
    #expect(try Self.secret(fixture)?.source == .file("/etc/postern/shop"))
    fixture.environment = ["CREDENTIALS_DIRECTORY": "/run/credentials/postern.service"]
    #expect(try Self.secret(fixture)?.value.reveal() == "credential")
    #expect(try Self.secret(fixture)?.source == .file("/run/credentials/postern.service/shop"))
    fixture.files["/run/credentials/postern.service/shop"] = nil
    #expect(try Self.secret(fixture)?.value.reveal() == "local")
  }

  @Test("An absolute secret ignores the credentials directory")
  func absolutePath() throws {
    let fixture = Fixture(
      Self.issuer("clientSecretFile: /a/shop"), files: ["/a/shop": "right", "/c/a/shop": "wrong"],
      environment: ["CREDENTIALS_DIRECTORY": "/c"])
    #expect(try Self.secret(fixture)?.value.reveal() == "right")
  }

  @Test("An environment variable holds a secret without a warning")
  func environment() throws {
    let fixture = Fixture(Self.issuer("clientSecretEnv: SHOP_SECRET"), environment: ["SHOP_SECRET": "s3cret"])
    #expect(try Self.secret(fixture)?.value.reveal() == "s3cret")
    #expect(try Self.secret(fixture)?.source == .environment("SHOP_SECRET"))
    #expect(fixture.warnings == [])
  }

  @Test("An environment variable that is not set or empty is a problem")
  func missingEnvironment() {
    var fixture = Fixture(Self.issuer("clientSecretEnv: SHOP_SECRET"))
    #expect(fixture.problems == ["1:82: issuers.corp.clientSecretEnv: the environment variable SHOP_SECRET is not set"])
    fixture.environment = ["SHOP_SECRET": ""]
    #expect(fixture.problems == ["1:82: issuers.corp.clientSecretEnv: the environment variable SHOP_SECRET is empty"])
  }

  @Test("An inline secret works and warns, without being shown")
  func inline() throws {
    let fixture = Fixture(Self.issuer("clientSecret: hunter2"))
    #expect(try Self.secret(fixture)?.value.reveal() == "hunter2")
    #expect(try Self.secret(fixture)?.source == .inline)
    #expect(
      fixture.warnings == [
        "1:79: issuers.corp.clientSecret: the secret is in the configuration itself; use clientSecretFile or clientSecretEnv"
      ])
  }

  @Test("An empty inline secret is a problem", arguments: ["\"\"", "~", ""])
  func emptyInline(text: String) {
    let problems = Fixture(
      "issuers:\n  corp:\n    issuer: https://a.example\n    clientId: x\n    clientSecret: \(text)\n"
    ).problems
    #expect(problems.map { String($0.drop { $0 != "i" }) } == ["issuers.corp.clientSecret: the secret is empty"])
  }

  @Test("Two ways of giving one secret are a problem")
  func twoWays() {
    let fixture = Fixture(
      Self.issuer("clientSecretFile: /s, clientSecretEnv: S"), files: ["/s": "a"], environment: ["S": "b"])
    #expect(
      fixture.problems
        == ["1:104: issuers.corp.clientSecretEnv: give only one of clientSecretFile, clientSecretEnv"])
  }

  @Test("The store's key is the bytes of its file, nothing stripped")
  func storeKey() throws {
    var fixture = Fixture("store: { keyFile: /k }")
    fixture.files["/k"] = ConfigurationFile(bytes: [0x00, 0xFF, 0x0A])
    #expect(try fixture.configuration().store.key?.value.reveal() == [0x00, 0xFF, 0x0A])
  }

  @Test("A PEM file keeps its lines")
  func pem() throws {
    let pem = "-----BEGIN PRIVATE KEY-----\nMC4C\n-----END PRIVATE KEY-----"
    let fixture = Fixture(
      Self.issuer("clientAuth: private_key_jwt, clientKeyFile: key.pem"), files: ["/etc/postern/key.pem": "\(pem)\n"])
    #expect(try fixture.configuration().issuers["corp"]?.clientKey?.value.reveal() == pem)
  }

  @Test("The key of an encrypted ID token comes from a list of files, each problem at its item")
  func keyFiles() throws {
    let yaml = Self.issuer("idToken: { encryption: { required: true, keyFiles: [a.pem, b.pem] } }")
    var fixture = Fixture(yaml, files: ["/etc/postern/a.pem": "A", "/etc/postern/b.pem": "B\n"])
    let keys = try fixture.configuration().issuers["corp"]?.idToken.encryption.keys
    #expect(keys?.map { $0.value.reveal() } == ["A", "B"])
    fixture.files["/etc/postern/b.pem"] = nil
    #expect(
      fixture.problems == [
        "1:124: issuers.corp.idToken.encryption.keyFiles[1]: /etc/postern/b.pem: there is no such file"
      ])
  }

  @Test("A configuration prints its secrets nowhere, and neither do its problems")
  func neverPrinted() throws {
    var fixture = Fixture(Self.issuer("clientSecret: hunter2, clientKey: \"hunter2\\nhunter2\""))
    fixture.environment = ["POSTERN__STORE__KEY": "hunter2"]
    let configuration = try fixture.configuration()
    #expect(configuration.store.key != nil)
    var dumped = ""
    dump(configuration, to: &dumped)
    #expect(!"\(configuration) \(String(reflecting: configuration)) \(dumped) \(fixture.warnings)".contains("hunter2"))
    fixture.bytes += Array("\nlimits: 5\nlog: [hunter2".utf8)
    #expect(!fixture.problems.isEmpty)
    #expect(!fixture.problems.joined().contains("hunter2"))
  }

  @Test("Files without secrets must be there, and their paths come out complete")
  func publicFiles() throws {
    let yaml = "resources: { a: { baseUrl: \"https://a.example\", auth: none, tls: { caFile: ca.pem } } }"
    #expect(
      try Fixture(yaml, files: ["/etc/postern/ca.pem": "x"]).configuration().resources["a"]?.tls.trust.caFile
        == "/etc/postern/ca.pem")
    #expect(Fixture(yaml).problems == ["1:76: resources.a.tls.caFile: /etc/postern/ca.pem: there is no such file"])
    #expect(
      Fixture(yaml, files: ["/etc/postern/ca.pem": ""]).problems == [
        "1:76: resources.a.tls.caFile: /etc/postern/ca.pem: the file is empty"
      ])
  }

  @Test("A configuration file that everybody can write to warns")
  func writableFile() {
    var fixture = Fixture("{}")
    fixture.permissions = 0o666
    #expect(fixture.warnings == [" every user of this machine can change this file; chmod o-w"])
  }
}
