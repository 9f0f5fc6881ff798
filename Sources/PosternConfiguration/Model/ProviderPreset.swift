public import AuthEngine
import JOSE
import PosternSupport

/// The kinds of providers whose deviations are known, for `issuers.NAME.provider`.
public enum Provider: String, Sendable, Hashable, CaseIterable {
  /// Keycloak.
  case keycloak
  /// Microsoft Entra ID.
  case entra
  /// Okta.
  case okta
  /// Auth0.
  case auth0
  /// Google.
  case google
  /// Amazon Cognito.
  case cognito
  /// GitHub.
  case github
  /// Apple.
  case apple
  /// Slack.
  case slack
  /// PingAM, ForgeRock AM, PingOne Advanced Identity Cloud.
  case pingam
  /// GitLab.
  case gitlab
  /// authentik.
  case authentik
  /// Authelia.
  case authelia
  /// ZITADEL.
  case zitadel
  /// Dex.
  case dex
}

/// The settings that a provider is known to need. A key that is given beside `provider` has precedence over each.
struct ProviderPreset: Sendable, Equatable {
  /// The format of its access tokens; nil: RFC 9068, or the one that a token shows.
  var format: AccessTokenExpectations.Format?
  /// How a client with a secret authenticates; nil: `client_secret_basic`.
  var secretMethod: ClientAuthentication?
  /// The audience of assertions; nil: the issuer.
  var assertionAudience: AssertionForm.Audience?
  /// How assertions name their key; nil: in every way that is known.
  var assertionHeaders: [AssertionHeader]?
  /// The algorithm of assertions by an RSA key; nil: RS256.
  var rsaAlgorithm: SignatureAlgorithm?
  /// Whether the client's certificate is for assertions alone, and is not presented to the provider's servers.
  var certificateIsForAssertions = false
  /// The separator of the scopes in its answers; nil: a space.
  var scopeSeparator: ScopeSeparator?
  /// Whether the endpoints are those of GitHub, which has no metadata for them.
  var hasGitHubEndpoints = false
  /// Other names that its tokens have in `iss`.
  var otherIssuers: [String] = []
  /// Whether tokens may have been requested by any client of this one's project (Google).
  var trustsProject = false
}

extension Provider {
  /// The table, with the place of each fact; proto-docs/providers.md says what was tested, and how.
  var preset: ProviderPreset {
    var preset = ProviderPreset()
    switch self {
    case .keycloak:
      // keycloak/keycloak, core/src/main/java/org/keycloak/util/TokenUtil.java: TOKEN_TYPE_BEARER is the claim `typ`;
      // services, AccessTokenResponseBuilder: the header's `typ` is JWT unless the client asks for at+jwt.
      preset.format = .keycloak
    case .entra:
      // learn.microsoft.com/entra/identity-platform/access-token-claims-reference: `typ` JWT, `azp` (2.0) or `appid`
      // (1.0), `scp` as text, `roles`.
      preset.format = .entra
      // learn.microsoft.com/entra/identity-platform/v2-oauth2-auth-code-flow: client_secret in the form.
      preset.secretMethod = .clientSecretPost
      // learn.microsoft.com/entra/identity-platform/certificate-credentials: `alg` PS256, `typ` JWT, `x5t#S256`, `aud`
      // is the token endpoint (earlier: RS256 with `x5t`).
      preset.assertionAudience = .tokenEndpoint
      preset.assertionHeaders = [.kid, .x5tS256]
      preset.rsaAlgorithm = .ps256
      // The metadata's mtls_endpoint_aliases are for bound tokens; a certificate would lead requests there.
      preset.certificateIsForAssertions = true
    case .okta:
      // developer.okta.com/docs/api/openapi/okta-oauth/guides/overview, access token: `cid`, and `scp` as a list.
      preset.format = .okta
      // developer.okta.com/docs/guides/build-self-signed-jwt: `aud` is the full URL of the resource that the JWT is sent
      // to; support.okta.com, "multiple key pairs": `kid` has to be there then.
      preset.assertionAudience = .url
    case .auth0:
      // auth0.com/docs/secure/tokens/access-tokens/access-token-profiles: `azp`, no `client_id`, no `jti` by default.
      preset.format = .auth0
      // auth0.com/docs/get-started/applications/application-settings: new applications have Client Secret (Post).
      preset.secretMethod = .clientSecretPost
    case .google:
      // developers.google.com/identity/openid-connect/openid-connect: `iss` is either spelling; access tokens are
      // opaque.
      preset.otherIssuers = ["accounts.google.com"]
      // developers.google.com/identity/protocols/CrossClientAuth: a token for the server's client may be requested by
      // any client of the same project, whose number is the beginning of a client's id.
      preset.trustsProject = true
    case .cognito:
      // docs.aws.amazon.com/cognito, "Understanding the access token": `token_use` access, `client_id`, no `aud`.
      preset.format = .cognito
    case .github:
      // docs.github.com/apps/oauth-apps/building-oauth-apps/authorizing-oauth-apps: the three endpoints, the secret in
      // the form, scopes with commas in the answer, no expires_in.
      preset.hasGitHubEndpoints = true
      preset.secretMethod = .clientSecretPost
      preset.scopeSeparator = .comma
    case .apple:
      // developer.apple.com/documentation/signinwithapplerestapi/generate-and-validate-tokens: client_secret, a JWT
      // that is made outside, in the form.
      preset.secretMethod = .clientSecretPost
    case .slack:
      // docs.slack.dev/reference/methods/openid.connect.token: client_secret in the form, no expires_in without token
      // rotation; docs.slack.dev/authentication/installing-with-oauth: scopes with commas.
      preset.secretMethod = .clientSecretPost
      preset.scopeSeparator = .comma
    case .pingam:
      // docs.pingidentity.com/pingam, "Client-based OAuth 2.0 tokens": `tokenName` access_token, `scope` as a list, and
      // `aud` is the client.
      preset.format = .jwt
      // docs.pingidentity.com/pingam, "JWT profile for client authentication": `aud` is the token endpoint.
      preset.assertionAudience = .tokenEndpoint
    case .gitlab:
      // docs.gitlab.com/integration/oauth_provider: access tokens are opaque, and last two hours, with refresh tokens:
      // nothing deviates.
      break
    case .authentik:
      // goauthentik/authentik, authentik/providers/oauth2/id_token.py, to_access_token: an access token is the ID token
      // with `azp` and `uid`; views/token.py, create_code_response: with its `nonce`, too. `aud` is the client.
      preset.format = .authentik
    case .authelia:
      // authelia/authelia, docs/content/configuration/identity-providers/openid-connect/clients.md: opaque by default, or
      // RFC 9068 where access_token_signed_response_alg or …_key_id is set.
      preset.format = .rfc9068
    case .zitadel:
      // zitadel.com/docs/apis/openidoauth/claims: `aud`, `azp`, `jti`, no `nonce` in JWT access tokens.
      preset.format = .jwt
      // zitadel.com/docs/apis/openidoauth/authn-methods: `aud` is the issuer, `kid` the key's id in its JSON file.
      preset.assertionAudience = .issuer
    case .dex:
      // dexidp/dex, server/oauth2.go, newAccessToken: an access token is made by newIDToken, with the `at_hash` of a
      // random text: nothing distinguishes them, and none is accepted as an access token.
      break
    }
    return preset
  }

  /// The provider that an issuer evidently is, by its URL or by the path of its token endpoint; nil where nothing shows
  /// it.
  public static func suggested(issuer: String, tokenEndpoint: String? = nil) -> Provider? {
    let (host, path) = parts(of: issuer)
    func isBelow(_ domains: String...) -> Bool { domains.contains { host == $0 || host.hasSuffix(".\($0)") } }
    if isBelow("login.microsoftonline.com", "sts.windows.net", "ciamlogin.com", "b2clogin.com") { return .entra }
    if isBelow("okta.com", "oktapreview.com", "okta-emea.com") { return .okta }
    if isBelow("auth0.com") { return .auth0 }
    if host == "accounts.google.com" { return .google }
    if host.hasPrefix("cognito-idp.") { return .cognito }
    if isBelow("github.com", "ghe.com") || path.hasSuffix("/login/oauth") { return .github }
    if host == "appleid.apple.com" { return .apple }
    if host == "slack.com" { return .slack }
    if host == "gitlab.com" { return .gitlab }
    if isBelow("zitadel.cloud") { return .zitadel }
    if path.contains("/oauth2/realms/") || isBelow("forgeblocks.com") { return .pingam }
    if path.contains("/realms/") { return .keycloak }
    if path.contains("/application/o/") { return .authentik }
    guard let endpoint = tokenEndpoint.map({ parts(of: $0).path }) else { return nil }
    let endings: [(String, Provider)] = [
      ("/protocol/openid-connect/token", .keycloak), ("/oauth2/v2.0/token", .entra),
      ("/application/o/token/", .authentik),
      ("/oauth/v2/token", .zitadel), ("/dex/token", .dex),
      ("/login/oauth/access_token", .github), ("/api/openid.connect.token", .slack), ("/oauth2/access_token", .pingam),
    ]
    return endings.first { endpoint.hasSuffix($0.0) }?.1
  }

  /// The host and the path in lower case; empty where the text is not a URL. It may have Entra's `{tenantid}`.
  private static func parts(of text: String) -> (host: String, path: String) {
    guard let url = try? URLText(text.replacing("{tenantid}", with: "tenantid")) else { return ("", "") }
    return (url.host.lowercasedASCII(), url.path.lowercasedASCII())
  }

  /// The format of its access tokens; nil where they have none of their own.
  public var accessTokenFormat: AccessTokenExpectations.Format? { preset.format }
}

extension AccessTokenExpectations.Format {
  /// Those that `issuers.NAME.format` names: which one a token has is seen where it is left out.
  static let configurable = allCases.filter { $0 != .recognized && $0 != .entraUser }
}

/// Which tokens of requests are introspected, for `issuers.NAME.introspect`: a Boolean in the engine, a word in
/// the file.
public enum IntrospectedTokens: String, Sendable, Hashable, CaseIterable {
  /// Those that are not JWTs.
  case opaque
  /// All: a JWT has to be valid by its signature and claims, and active by the issuer's word.
  case always
}

/// How the header of an assertion names its key (RFC 7515 section 4.1).
public enum AssertionHeader: String, Sendable, Hashable, CaseIterable {
  /// The key's id.
  case kid
  /// The certificate's thumbprint, SHA-1.
  case x5t
  /// The certificate's thumbprint, SHA-256.
  case x5tS256 = "x5t#S256"
}

/// The types of token that a token endpoint may name: a Boolean in the engine, a word in the file.
public enum TokenTypeRule: String, Sendable, Hashable, CaseIterable {
  /// `Bearer` and `DPoP`.
  case strict
  /// Any, or none: such a token is used as a bearer token.
  case any
}

/// The separator of scopes in the answers of a token endpoint: a Boolean in the engine, a word in the file.
public enum ScopeSeparator: String, Sendable, Hashable, CaseIterable {
  /// A space (RFC 6749 section 3.3).
  case space
  /// A comma, or a space.
  case comma
}
