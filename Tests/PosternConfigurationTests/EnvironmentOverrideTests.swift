import AuthEngine
import Logging
import PosternSupport
import Testing

@testable import PosternConfiguration

@Suite("Environment overrides")
struct EnvironmentOverrideTests {
  private static let yaml = """
    listen: { path: /run/a.sock }
    peers:
      - { uid: 1, methods: [getInfo] }
    validation: { jwksOrigins: ["https://a.example"] }
    issuers:
      corp: { issuer: "https://a.example", clientId: shop, clientSecretFile: /run/secrets/shop }
    resources:
      billing: { baseUrl: "https://a.example", auth: none }
      my-api: { baseUrl: "https://a.example", auth: none }
      a__b: { baseUrl: "https://a.example", auth: none }
    preauthorization:
      pass:
        { kind: adobe-pass, baseUrl: "https://a.example", serviceProvider: a, mvpd: b, softwareStatement: c, deviceIdFile: /d, deviceInfo: { osName: Linux } }
    """

  private static func fixture(_ environment: [String: String]) -> Fixture {
    Fixture(yaml, files: ["/run/secrets/shop": "from the file"], environment: environment)
  }

  private static func configuration(_ environment: [String: String]) throws -> PosternConfiguration {
    try fixture(environment).configuration()
  }

  @Test(
    "A variable replaces the value in the file, in upper or lower case",
    arguments: ["POSTERN__LISTEN__PATH", "POSTERN__listen__path"])
  func replaces(name: String) throws {
    #expect(try Self.configuration([name: "/run/b.sock"]).listen.path == "/run/b.sock")
  }

  @Test("Sections that the file leaves out are made")
  func makes() throws {
    let configuration = try Self.configuration([
      "POSTERN__LOG__LEVEL": "debug", "POSTERN__LIMITS__MESSAGEBYTES": "1MiB", "POSTERN__LIMITS__DEPTH": "7",
      "POSTERN__LISTEN__MODE": "0660", "POSTERN__TOKENS__LEAVETHESIDECAR": "true",
      "POSTERN__RESOURCES__BILLING__LIMITS__CONCURRENCY": "3",
    ])
    #expect(configuration.log.level == .debug)
    #expect(configuration.limits.messageBytes == 1 << 20)
    #expect(configuration.limits.depth == 7)
    #expect(configuration.listen.mode == 0o660)
    #expect(configuration.tokens.leaveTheSidecar)
    #expect(configuration.resources["billing"]?.bounds.limits?.concurrency == 3)
  }

  @Test("Names of maps match whatever a variable's name cannot hold")
  func names() throws {
    let configuration = try Self.configuration([
      "POSTERN__RESOURCES__BILLING__BASEURL": "https://b.example",
      "POSTERN__RESOURCES__MY_API__BASEURL": "https://c.example",
      "POSTERN__RESOURCES__A__B__BASEURL": "https://d.example",
      "POSTERN__PREAUTHORIZATION__PASS__DEVICEINFO__OSNAME": "tvOS",
    ])
    #expect(configuration.resources["billing"]?.locations.baseURL == "https://b.example")
    #expect(configuration.resources["my-api"]?.locations.baseURL == "https://c.example")
    #expect(configuration.resources["a__b"]?.locations.baseURL == "https://d.example")
    #expect(configuration.preauthorization["pass"]?.adobePass.deviceInfo == ["osName": "tvOS"])
  }

  @Test("Lists go by index, one past the end adds an item")
  func lists() throws {
    let configuration = try Self.configuration([
      "POSTERN__PEERS__0__UID": "5", "POSTERN__PEERS__0__METHODS__1": "health", "POSTERN__PEERS__1__UID": "6",
      "POSTERN__PEERS__1__METHODS__0": "*", "POSTERN__VALIDATION__JWKSORIGINS__0": "https://b.example",
      "POSTERN__VALIDATION__JWKSORIGINS__1": "https://c.example",
    ])
    #expect(
      configuration.peers == [PeerRule(uid: 5, methods: ["getInfo", "health"]), PeerRule(uid: 6, methods: ["*"])])
    #expect(configuration.validation.jwksOrigins == ["https://b.example", "https://c.example"])
  }

  @Test("Items are added in the order of their numbers, ten behind nine")
  func manyItems() throws {
    var environment: [String: String] = [:]
    for index in 0..<12 { environment["POSTERN__VALIDATION__JWKSORIGINS__\(index)"] = "https://h\(index).example" }
    let origins = try Self.configuration(environment).validation.jwksOrigins
    #expect(origins == (0..<12).map { "https://h\($0).example" })
  }

  @Test("One way of giving a secret replaces another, and a secret in the environment does not warn")
  func secrets() throws {
    let inline = Self.fixture(["POSTERN__ISSUERS__CORP__CLIENTSECRET": "from the environment"])
    #expect(try inline.configuration().issuers["corp"]?.clientSecret?.value.reveal() == "from the environment")
    #expect(!inline.warnings.contains { $0.contains("clientSecret") })
    let variable = try Self.configuration(["POSTERN__ISSUERS__CORP__CLIENTSECRETENV": "SHOP", "SHOP": "from SHOP"])
    #expect(variable.issuers["corp"]?.clientSecret?.source == .environment("SHOP"))
  }

  @Test("Two ways of giving one secret in the environment stay a problem")
  func twoSecrets() {
    let problems = Self.fixture([
      "POSTERN__ISSUERS__CORP__CLIENTSECRET": "a", "POSTERN__ISSUERS__CORP__CLIENTSECRETENV": "SHOP", "SHOP": "b",
    ]).problems
    #expect(problems.count == 1)
    #expect(problems.first?.contains("give only one of clientSecretEnv, clientSecret") == true)
  }

  @Test(
    "A variable that names no single value is a problem that states where it fails",
    arguments: [
      ("POSTERN__LIMITS__DEPHT", "there is no DEPHT in limits; did you mean DEPTH?"),
      ("POSTERN__LIMIT__DEPTH", "there is no LIMIT in the configuration; did you mean LIMITS?"),
      ("POSTERN__LIMITS", "limits is not a single value; name a key below it"),
      ("POSTERN__LIMITS__DEPTH__X", "limits.depth has no keys below it"),
      ("POSTERN__RESOURCES__OTHER__BASEURL", "there is no OTHER in resources"),
      ("POSTERN__RESOURCES__BILING__BASEURL", "there is no BILING in resources; did you mean BILLING?"),
      ("POSTERN__RESOURCES__BILLING", "resources.billing is not a single value; name a key below it"),
      ("POSTERN__RESOURCES", "resources is not a single value; name a key below it"),
      ("POSTERN__PEERS__2__UID", "peers is a list with 1 items: name one by its index, 0 to 1"),
      ("POSTERN__PEERS__X__UID", "peers is a list with 1 items: name one by its index, 0 to 1"),
      ("POSTERN__PEERS__99999999999999999999__UID", "peers is a list with 1 items: name one by its index, 0 to 1"),
      ("POSTERN__PEERS__0", "peers[0] is not a single value; name a key below it"),
      ("POSTERN__PEERS", "peers is not a single value; name a key below it"),
      ("POSTERN__VALIDATION__JWKSORIGINS", "validation.jwksOrigins is not a single value; name a key below it"),
      ("POSTERN__VALIDATION__JWKSORIGINS__0__X", "validation.jwksOrigins[0] has no keys below it"),
      ("POSTERN__PREAUTHORIZATION__PASS__DEVICEINFO__MODEL", "there is no MODEL in preauthorization.pass.deviceInfo"),
      ("POSTERN__", "there is no  in the configuration"),
      ("POSTERN____", "there is no  in the configuration"),
    ])
  func nowhere(name: String, message: String) {
    #expect(Self.fixture([name: "1"]).problems == ["environment variable \(name): \(message)"])
  }

  @Test("A variable that could mean two things is a problem")
  func ambiguous() {
    var fixture = Fixture(
      "resources:\n  a-b: { baseUrl: \"https://a.example\", auth: none }\n  a_b: { baseUrl: \"https://a.example\", auth: none }\n"
    )
    fixture.environment = ["POSTERN__RESOURCES__A_B__TIMEOUT": "5s"]
    #expect(
      fixture.problems == [
        "environment variable POSTERN__RESOURCES__A_B__TIMEOUT: could mean resources.a-b.timeout and resources.a_b.timeout"
      ])
  }

  @Test("A wrong value is blamed on the variable, an empty one too")
  func wrongValue() {
    #expect(
      Self.fixture(["POSTERN__LIMITS__DEPTH": "many"]).problems == [
        "environment variable POSTERN__LIMITS__DEPTH: limits.depth: must be a whole number from 1 to 512"
      ])
    #expect(
      Self.fixture(["POSTERN__LISTEN__PATH": ""]).problems == [
        "environment variable POSTERN__LISTEN__PATH: listen.path: must not be empty"
      ])
  }

  @Test("Problems of the file and of the environment are reported together")
  func together() {
    var fixture = Fixture("limits: { batch: 0 }")
    fixture.environment = ["POSTERN__LIMITS__DEPTH": "0", "POSTERN__NOPE": "1"]
    #expect(fixture.problems.count == 3)
  }

  @Test("Other variables are none of our business")
  func others() throws {
    #expect(
      try Self.configuration(["POSTERN_SOCKET": "/x", "POSTERN": "1", "XPOSTERN__LIMITS__DEPTH": "x"]).limits.depth
        == 128)
  }

  @Test("An override cannot repair a section that is no section; the file's problem stays")
  func brokenSection() {
    var fixture = Fixture("")
    fixture.environment = ["POSTERN__LIMITS__DEPTH": "5"]
    #expect(fixture.problems == [])
  }
}
