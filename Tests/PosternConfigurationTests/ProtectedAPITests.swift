import AuthEngine
import Testing

@testable import PosternConfiguration

/// `gateway.protect.NAME`.
@Suite struct ProtectedAPITests {
  private static func load(_ orders: String) -> Fixture {
    Fixture(
      """
      issuers: { corp: { issuer: "https://idp.example" } }
      gateway:
        protect:
          orders: { issuer: corp, audience: a\(orders) }
      """)
  }

  // Would catch a default that lets more pass than is written, and a key that is read and then lost.
  @Test("every key is read, and what is left out has its default")
  func keys() throws {
    func api(_ text: String) throws -> ProtectedAPIConfiguration? {
      try Self.load(text).configuration().gateway.protect["orders"]
    }
    var expected = ProtectedAPIConfiguration(issuer: "corp", audience: "a")
    #expect(try api("") == expected)
    expected.requiredScopes = ["orders:read", "x"]
    expected.dpop = .required
    expected.identityHeaders = ["X-User": "sub", "X-Roles": "https://example.com/roles"]
    expected.maxAge = .seconds(900)
    expected.acrValues = ["urn:mfa"]
    expected.dialect = .nginx
    expected.origin = "https://orders.example:8443"
    expected.clientCertificateHeader = "X-Client-Cert"
    let text = """
      , requiredScopes: ["orders:read", x], dpop: required, maxAge: 15m, acrValues: ["urn:mfa"], dialect: nginx,
          identityHeaders: { X-User: sub, X-Roles: "https://example.com/roles" }, origin: "https://orders.example:8443",
          clientCertificateHeader: X-Client-Cert
      """
    #expect(try api(text) == expected)
    #expect(Self.load(text).warnings == [])
  }

  // Would catch an API without an issuer or audience, and a scope that is two in the challenge.
  @Test(
    "what makes no sense is a problem",
    arguments: [
      (", dpop: maybe", "gateway.protect.orders.dpop"), (", dialect: iis", "gateway.protect.orders.dialect"),
      (", requiredScopes: [\"a b\"]", "gateway.protect.orders.requiredScopes[0]"),
      (", requiredScopes: ['a\"b']", "gateway.protect.orders.requiredScopes[0]"),
      (", origin: \"https://orders.example/x\"", "gateway.protect.orders.origin"),
      (", origin: orders.example", "gateway.protect.orders.origin"),
      (", maxAge: -1s", "gateway.protect.orders.maxAge"), (", scopes: [a]", "gateway.protect.orders.scopes"),
      (", clientCertificateHeader: Authorization", "gateway.protect.orders.clientCertificateHeader"),
      (", clientCertificateHeader: \"a b\"", "gateway.protect.orders.clientCertificateHeader"),
      (
        ", identityHeaders: { X-User: sub }, clientCertificateHeader: x_user",
        "gateway.protect.orders.clientCertificateHeader"
      ),
    ])
  func problems(text: String, path: String) {
    let problems = Self.load(text).problems
    #expect(problems.count == 1 && problems.first?.contains("\(path): ") == true, "\(problems)")
  }

  // Would catch an identity header that replaces a field with a meaning of its own, or that servers drop or merge.
  @Test(
    "an identity header is a field of its own",
    arguments: [
      "Authorization", "Host", "DPoP", "dpop-nonce", "Content-Length", "Connection", "Cookie", "Set-Cookie", "Location",
      "WWW-Authenticate", "Cache-Control", "X-Forwarded-User", "X-Forwarded-Uri", "X-Original-User", "X_User", "X.User",
      "\"X User\"", "\"X-User:\"", "Postern-User", "Proxy-User", "Content-Type", "Transfer-Encoding", "traceparent",
    ])
  func identityHeaders(name: String) {
    let problems = Self.load(", identityHeaders: { \(name): sub }").problems
    #expect(
      problems.count == 1 && problems.first?.contains("gateway.protect.orders.identityHeaders") == true, "\(problems)")
  }

  // Would catch two claims in one field, of which the server behind takes either.
  @Test("one identity header in two spellings is a problem")
  func spellings() {
    #expect(Self.load(", identityHeaders: { X-User: sub, x-user: name }").problems.count == 1)
    #expect(Self.load(", identityHeaders: { X-User: sub, X-Name: name, Remote-User: sub }").problems == [])
  }

  // Would catch an API whose tokens cannot be validated.
  @Test("the issuer must be configured")
  func issuer() {
    let fixture = Fixture(
      "issuers: { corp: { issuer: \"https://idp.example\" } }\ngateway: { protect: { a: { issuer: corq, audience: a } } }"
    )
    #expect(
      fixture.problems == [
        "2:36: gateway.protect.a.issuer: there is no issuer corq; did you mean corp?"
      ])
    #expect(Self.load("").problems == [])
    #expect(Fixture("gateway: { protect: { a: {} } }").problems.count >= 2)
  }
}
