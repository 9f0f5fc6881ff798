import AuthEngine
import PosternJSON
import Testing

@testable import PosternConfiguration

@Suite("Former names of keys and values")
struct FormerNameTests {
  private static func yaml(rateLimit: String = "rateLimit", clientCredentials: String = "clientCredentials") -> String {
    """
    issuers:
      corp: { issuer: "https://a.example", clientId: shop, clientSecret: x, clientAuth: client_secret_basic }
    resources:
      billing: { baseUrl: "https://b.example", issuer: corp, auth: \(clientCredentials) }
    preauthorization:
      pdp:
        kind: authzen
        baseUrl: "https://c.example"
        issuer: corp
        credentials: { bearer: \(clientCredentials) }
        \(rateLimit): { perSecond: 3, burst: 4 }
    """
  }

  @Test("A file with the former names has the same meaning, and no warning more")
  func sameMeaning() throws {
    let current = Fixture(Self.yaml())
    let former = Fixture(Self.yaml(rateLimit: "pace", clientCredentials: "device"))
    let configuration = try current.configuration()
    #expect(configuration.resources["billing"]?.tokens.auth == .clientCredentials)
    #expect(configuration.preauthorization["pdp"]?.credentials.bearer == .clientCredentials)
    #expect(configuration.preauthorization["pdp"]?.requests.rateLimit == .init(perSecond: 3, burst: 4))
    #expect(try former.configuration() == configuration)
    #expect(former.warnings == current.warnings)
  }

  @Test("Messages name the current names, at the position of what the file has")
  func messages() {
    let fixture = Fixture(
      "preauthorization: { p: { kind: authzen, baseUrl: \"https://b.example\", pace: { burst: 0 } } }")
    #expect(
      fixture.problems == [
        "1:86: preauthorization.p.rateLimit.burst: out of range: must be a whole number from 1 to 100000"
      ])
    #expect(
      Fixture("resources: { a: { baseUrl: \"https://b.example\", auth: device } }").problems == [
        "1:55: resources.a.auth: auth: clientCredentials needs an issuer"
      ])
    #expect(
      Fixture("resources: { a: { baseUrl: \"https://b.example\", auth: clientcredentials } }").problems.first?
        .contains("clientCredentials") == true)
  }

  @Test("Both names of one key are an error")
  func bothNames() {
    let yaml = Self.yaml() + "\n    pace: { burst: 2 }"
    #expect(
      Fixture(yaml).problems == [
        "12:5: preauthorization.pdp.pace: is the former name of rateLimit, which is given, too: leave it out"
      ])
  }

  @Test(
    "A variable with either name overrides a file with either",
    arguments: ["pace", "rateLimit"], ["pace", "rateLimit"])
  func variables(key: String, variable: String) throws {
    var fixture = Fixture(Self.yaml(rateLimit: key))
    fixture.environment = [
      "POSTERN__PREAUTHORIZATION__PDP__\(variable.uppercased())__BURST": "9",
      "POSTERN__RESOURCES__BILLING__AUTH": "device",
    ]
    let configuration = try fixture.configuration()
    #expect(configuration.preauthorization["pdp"]?.requests.rateLimit == .init(perSecond: 3, burst: 9))
    #expect(configuration.resources["billing"]?.tokens.auth == .clientCredentials)
  }

  @Test("The schema accepts former names as deprecated, the annotated example does not show them")
  func documents() throws {
    let schema = ConfigurationSchema.jsonSchema()
    let point = schema["properties"]?["preauthorization"]?["additionalProperties"]
    #expect(point?["properties"]?["pace"]?["deprecated"] == true)
    #expect(point?["properties"]?["pace"]?["properties"] == point?["properties"]?["rateLimit"]?["properties"])
    #expect(point?["properties"]?["rateLimit"]?["deprecated"] == nil)
    #expect(
      point?["allOf"]?.arrayValue?.contains(["not": ["type": "object", "required": ["rateLimit", "pace"]]]) == true)
    let auth = schema["properties"]?["resources"]?["additionalProperties"]?["properties"]?["auth"]
    #expect(
      auth?["anyOf"] == [
        ["enum": ["user", "implicit", "clientCredentials", "credential", "onBehalfOf", "none"]],
        ["enum": ["device"], "deprecated": true],
      ])
    let example = ConfigurationSchema.annotatedExample()
    let words = example.split { $0.isWhitespace || $0 == "#" }.joined(separator: " ")
    #expect(words.contains("One of: user, implicit, clientCredentials, credential, onBehalfOf, none."))
    for name in ["pace", "bearer: device"] { #expect(!example.contains(" #\(name)") && !example.contains(" \(name)")) }
  }
}
