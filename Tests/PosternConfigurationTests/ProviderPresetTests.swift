import AuthEngine
import PosternConfiguration
import Testing

/// `issuers.NAME.provider`, and the keys beside it.
@Suite struct ProviderPresetTests {
  private func issuer(_ lines: String, issuer: String = "https://idp.test") throws -> IssuerConfiguration {
    var yaml = "issuers:\n  corp:\n    issuer: \(issuer)\n    clientId: shop\n"
    for line in lines.split(separator: "\n") { yaml += "    \(line)\n" }
    let fixture = Fixture(yaml, files: ["/secret": "s", "/key": "k"])
    return try #require(fixture.configuration().issuers["corp"])
  }

  @Test(
    "a preset sets another format, client authentication or audience than its provider needs",
    arguments: [
      (.keycloak, .keycloak, "client_secret_basic", nil), (.entra, .entra, "client_secret_post", .tokenEndpoint),
      (.okta, .okta, "client_secret_basic", .url), (.auth0, .auth0, "client_secret_post", nil),
      (.google, nil, "client_secret_basic", nil), (.cognito, .cognito, "client_secret_basic", nil),
      (.github, nil, "client_secret_post", nil), (.apple, nil, "client_secret_post", nil),
      (.slack, nil, "client_secret_post", nil), (.pingam, .jwt, "client_secret_basic", .tokenEndpoint),
      (.gitlab, nil, "client_secret_basic", nil), (.authentik, .authentik, "client_secret_basic", nil),
      (.authelia, .rfc9068, "client_secret_basic", nil), (.zitadel, .jwt, "client_secret_basic", .issuer),
      (.dex, nil, "client_secret_basic", nil),
    ] as [(Provider, AccessTokenExpectations.Format?, String, AssertionForm.Audience?)])
  func presets(
    provider: Provider, format: AccessTokenExpectations.Format?, method: String,
    audience: AssertionForm.Audience?
  ) throws {
    let read = try issuer("provider: \(provider.rawValue)\nclientSecretFile: /secret")
    #expect(
      read.format == format && read.clientAuth.rawValue == method && read.credential.assertionAudience == audience)
    #expect(try issuer("provider: \(provider.rawValue)").clientAuth == .none)
  }

  @Test("a preset has precedence over a key beside it")
  func precedence() throws {
    let read = try issuer(
      """
      provider: entra
      format: rfc9068
      clientAuth: client_secret_basic
      clientSecretFile: /secret
      assertionAudience: issuer
      assertionHeaders: [x5t]
      """)
    #expect(read.format == .rfc9068 && read.clientAuth == .clientSecretBasic)
    #expect(read.credential.assertionAudience == .issuer && read.credential.assertionHeaders == [.x5t])
    #expect(try issuer("provider: github\nscopeSeparator: space").scopeSeparator == .space)
    #expect(try issuer("provider: github").scopeSeparator == .comma)
  }

  @Test("GitHub's endpoints are not found, or replace given ones, or those of another server")
  func gitHub() throws {
    let hub = try issuer(
      "provider: github\nendpoints:\n  token: https://proxy.test/token", issuer: "https://github.com")
    #expect(hub.endpoints.token == "https://proxy.test/token")
    #expect(hub.endpoints.authorization == "https://github.com/login/oauth/authorize")
    #expect(hub.endpoints.deviceAuthorization == "https://github.com/login/device/code")
    let own = try issuer("provider: github", issuer: "https://git.test/login/oauth")
    #expect(own.endpoints.token == "https://git.test/login/oauth/access_token")
    #expect(try issuer("provider: github").endpoints.token == nil)
  }

  @Test("the names of an issuer in tokens are those of another tenant, or of none")
  func names() throws {
    #expect(try issuer("provider: google").otherIssuers == ["accounts.google.com"])
    func entra(_ tenant: String) throws -> [String] {
      try issuer("format: entra", issuer: "https://login.microsoftonline.com/\(tenant)/v2.0").otherIssuers
    }
    #expect(try entra("t-1") == ["https://sts.windows.net/t-1/"])
    #expect(try entra("common").isEmpty && entra("t/1").isEmpty)
    #expect(try issuer("", issuer: "https://login.microsoftonline.com/t-1/v2.0").otherIssuers.isEmpty)
  }

  @Test("an issuer of all tenants cannot be named")
  func tenants() throws {
    let name = "https://login.microsoftonline.com/{tenantid}/v2.0"
    #expect(try issuer("provider: entra", issuer: "\"\(name)\"").issuer == name)
    let yaml = "issuers:\n  corp:\n    issuer: \"https://idp.test/{other}\"\n"
    #expect(!Fixture(yaml).problems.isEmpty)
  }

  @Test("introspection of JWTs is accepted without a client")
  func introspection() {
    let yaml = "issuers:\n  corp:\n    issuer: https://idp.test\n    introspect: always\n"
    #expect(Fixture(yaml).problems.contains { $0.contains("introspect: always needs clientId") })
  }

  @Test(
    "the preset of an evident provider is not suggested, or one is for another",
    arguments: [
      ("https://login.microsoftonline.com/t/v2.0", nil, .entra), ("https://sts.windows.net/t/", nil, .entra),
      ("https://shop.okta.com/oauth2/default", nil, .okta), ("https://shop.eu.auth0.com/", nil, .auth0),
      ("https://accounts.google.com", nil, .google), ("https://gitlab.com", nil, .gitlab),
      ("https://cognito-idp.eu-west-1.amazonaws.com/eu-west-1_x", nil, .cognito),
      ("https://github.com/login/oauth", nil, .github), ("https://appleid.apple.com", nil, .apple),
      ("https://slack.com", nil, .slack), ("https://am.test/am/oauth2/realms/root/realms/a", nil, .pingam),
      ("https://id.test/realms/shop", nil, .keycloak), ("https://id.test/application/o/shop/", nil, .authentik),
      ("https://shop-1.zitadel.cloud", nil, .zitadel), ("https://id.test", "https://id.test/dex/token", .dex),
      ("https://id.test", "https://id.test/auth/protocol/openid-connect/token", .keycloak),
      ("https://id.test", "https://id.test/api/oidc/token", nil), ("https://notokta.com", nil, nil),
      ("https://okta.com.evil.test", nil, nil),
    ] as [(String, String?, Provider?)])
  func suggestion(issuer: String, endpoint: String?, provider: Provider?) {
    #expect(Provider.suggested(issuer: issuer, tokenEndpoint: endpoint) == provider)
  }
}
