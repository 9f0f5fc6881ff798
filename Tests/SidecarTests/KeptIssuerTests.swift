import PosternTestSupport
import Testing

@testable import PosternConfiguration

@Suite("Issuers that a reload keeps")
struct KeptIssuerTests {
  private static func configuration(_ binding: String, client: String = "c") throws -> PosternConfiguration {
    let text = """
      issuers:
        a: { issuer: https://a.test, clientId: c }
        b: { issuer: https://b.test, clientId: \(client) }
      resources:
        one: { baseUrl: "https://one.test/", issuer: a, senderConstraint: \(binding) }
        two: { baseUrl: "https://two.test/", issuer: b }
      """
    return try ConfigurationLoader(
      methodNames: nil, readFile: { _, _ in .success(ConfigurationFile(bytes: Array(text.utf8), permissions: 0o600)) },
      groupIdentifier: { _ in nil }
    ).load(path: "/postern.yaml", environment: [:]).configuration
  }

  @Test("an issuer whose resource begins or ends to require bound tokens is kept, or another one is replaced")
  func binding() throws {
    let (bearer, bound) = (try Self.configuration("none"), try Self.configuration("dpop"))
    for (new, old) in [(bearer, bound), (bound, bearer)] {
      let isKept = IssuerFactory(configuration: new, clock: ManualClock()).sameness(with: old)
      #expect(!isKept("a") && isKept("b"))
    }
    let isKept = IssuerFactory(configuration: bound, clock: ManualClock()).sameness(with: bound)
    #expect(isKept("a") && isKept("b"))
    let other = try Self.configuration("dpop", client: "d")
    let isKeptElsewhere = IssuerFactory(configuration: other, clock: ManualClock()).sameness(with: bound)
    #expect(isKeptElsewhere("a") && !isKeptElsewhere("b"))
  }
}
