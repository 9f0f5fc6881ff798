public import AuthEngine
public import JOSE
import PosternJSON
public import PosternSupport

/// An OAuth 2.0 authorization server or OpenID provider, and who we are to it.
public struct IssuerConfiguration: Sendable, Equatable {
  /// The issuer identifier; its metadata is discovered there unless the endpoints are given.
  public var issuer: String
  /// The kind of provider; nil: none of those that are known.
  public var provider: Provider?
  /// The format of its access tokens; nil: RFC 9068, or the one that a token evidently has.
  public var format: AccessTokenExpectations.Format?
  /// Which tokens of requests it is asked about. Default `opaque`.
  public var introspect: IntrospectedTokens
  /// Which types of token its token endpoint may name. Default `strict`.
  public var tokenType: TokenTypeRule
  /// The separator of scopes in its answers. Default `space`.
  public var scopeSeparator: ScopeSeparator
  /// The client's id; nil where the issuer only serves to validate tokens.
  public var clientID: String?
  /// How the client authenticates, and with what.
  public var credential: ClientCredentialConfiguration
  /// Credentials that are used, in this order, when the issuer rejects the client.
  public var fallbackCredentials: [ClientCredentialConfiguration]
  /// Where the provider sends users back to.
  public var redirectURI: String?
  /// The scope to ask for.
  public var scope: String?
  /// The requirements on ID tokens.
  public var idToken: IDTokenConfiguration
  /// How long key sets are kept.
  public var jwks: KeySetPolicy
  /// How long the issuer's answers about opaque tokens are kept.
  public var introspection: IntrospectionConfiguration
  /// The proofs of possession that come with its tokens to APIs.
  package var dpop: ProofRules
  /// How a registered profile is logged in without its user; nil where that is not set up.
  public var implicit: ImplicitGrantConfiguration?
  /// Endpoints that take precedence over the discovered ones.
  public var endpoints: EndpointsConfiguration
  /// The access manager behind the issuer; nil where there is none.
  public var accessManager: AccessManagerConfiguration?
  /// Which servers to trust.
  public var tls: TrustConfiguration
  /// Whether requests leave through the outbound proxy. Default `outbound`.
  public var proxy: ProxyChoice
}

extension IssuerConfiguration: ConfigurationSection {
  package init(reading keys: SectionReader) {
    issuer = keys.required(
      "issuer", .issuerIdentifier,
      """
      Issuer identifier, exactly as the provider writes it. Its metadata is discovered there, unless the endpoints are given. \
      {tenantid} in it, as in Entra's metadata for all tenants, stands for a token's own tenant (tid).
      """,
      example: .shown("https://idp.example.com"))
    let given = keys.optional(
      "provider", .choice(Provider.self, placeholder: .keycloak),
      "Kind of provider, which sets what it is known to need (proto-docs/providers.md). Any key beside it has precedence.",
      example: .commented("keycloak"))
    let preset = given?.preset ?? ProviderPreset()
    provider = given
    format =
      keys.optional(
        "format",
        .choice(
          AccessTokenExpectations.Format.self, among: AccessTokenExpectations.Format.configurable, placeholder: .rfc9068
        ),
        """
        Format of the issuer's access tokens at your APIs. Left out: by provider, else RFC 9068, or that of Keycloak, Entra, Okta, Auth0 or \
        Cognito where a token evidently has it.
        """,
        example: .commented("keycloak")) ?? preset.format
    introspect = keys.value(
      "introspect", .choice(IntrospectedTokens.self, placeholder: .opaque), default: .opaque,
      "Which access tokens at your APIs the issuer is asked about. opaque: those that are not JWTs. always: JWTs, too, so that a revoked one is rejected."
    )
    tokenType = keys.value(
      "tokenType", .choice(TokenTypeRule.self, placeholder: .strict), default: .strict,
      "Whether the token endpoint must name the type Bearer or DPoP. any: a token of another type, or of none, is a bearer token."
    )
    scopeSeparator =
      keys.optional(
        "scopeSeparator", .choice(ScopeSeparator.self, placeholder: .space),
        "Separator of the scopes in the token endpoint's answers. Left out: by provider, else a space.",
        example: .commented("comma")) ?? preset.scopeSeparator ?? .space
    clientID = keys.optional("clientId", .text, "The client's id at the issuer.", example: .shown("shop"))
    credential = ClientCredentialConfiguration(reading: keys)
    credential.complete(by: preset)
    let method = credential.clientAuth
    let fallbacks = keys.sections(
      "fallbackCredentials", ClientCredentialConfiguration.self,
      "Credentials that are used in their order when the issuer rejects the client, so that a rotation has no gap.",
      commented: true)
    fallbackCredentials = (fallbacks ?? []).map { fallback in
      var fallback = fallback
      if !fallback.isMethodGiven { fallback.clientAuth = method }
      fallback.complete(by: preset)
      return fallback
    }
    redirectURI = keys.optional(
      "redirectUri", .redirectURI, "Where the provider sends users back to, for the SSO grant and postern login.",
      example: .commented("http://127.0.0.1:8765/callback"))
    scope = keys.optional(
      "scope", .text, "Scope to request, its parts separated by spaces; logins add the scopes of users' resources.",
      example: .shown("openid profile offline_access"))
    idToken = keys.section("idToken", IDTokenConfiguration.self, "Requirements on ID tokens.")
    jwks = keys.section("jwks", KeySetPolicy.self, "How long the issuer's key set is kept.")
    introspection = keys.section(
      "introspection", IntrospectionConfiguration.self,
      "How long the issuer's answers about opaque tokens are kept, for validateRequest.")
    dpop = keys.section(
      "dpop", ProofRules.self, "DPoP proofs (RFC 9449) in requests that validateRequest judges.")
    implicit = keys.optionalSection(
      "implicit", ImplicitGrantConfiguration.self,
      "How a profile that was registered by an earlier login is logged in again without its user, for resources with auth: implicit."
    )
    endpoints = keys.section(
      "endpoints", EndpointsConfiguration.self, "Endpoints that take precedence over the discovered ones.",
      commented: true)
    if preset.hasGitHubEndpoints { endpoints.completeByGitHub(at: issuer) }
    accessManager = keys.optionalSection(
      "accessManager", AccessManagerConfiguration.self, "The access manager (PingAM, ForgeRock AM) behind the issuer.",
      commented: true)
    tls = keys.section("tls", TrustConfiguration.self, "Which servers to trust.")
    proxy = ProxyChoice.read(keys)
    checkClientAuthentication(keys)
    checkEffects(keys)
  }

  private func checkEffects(_ keys: SectionReader) {
    guard !keys.isGiven("clientId") else { return }
    let settings = [
      ("implicit", true), ("redirectUri", true), ("scope", true), ("introspection", introspection.cache > .zero),
    ]
    for (name, isSet) in settings where isSet && keys.isGiven(name) {
      keys.problem("has no effect without clientId: the issuer's tokens are validated, and none is requested", at: name)
    }
  }

  private func checkClientAuthentication(_ keys: SectionReader) {
    credential.check(keys)
    if introspect == .always, !keys.isGiven("clientId") {
      keys.problem("introspect: always needs clientId, as which the issuer is asked", at: "introspect")
    }
    if clientAuth != .none, !keys.isGiven("clientId") {
      keys.problem("\(clientAuth.rawValue) needs clientId", at: "clientAuth")
    }
    for (index, fallback) in fallbackCredentials.enumerated() {
      guard let message = fallback.problemAsFallback else { continue }
      keys.context.problem(message, at: keys.path.key("fallbackCredentials").index(index))
    }
    if !fallbackCredentials.isEmpty, clientAuth == .none {
      keys.problem("a client without a credential of its own has no fallback", at: "fallbackCredentials")
    }
    let symmetric = idToken.algorithms.filter(\.isSymmetric).map(\.name)
    if !symmetric.isEmpty, !ClientCredentialConfiguration.hasSecret("clientSecret", keys) {
      keys.problem("\(symmetric.joined(separator: ", ")) needs a client secret: it is the key", at: "idToken")
    }
  }
}

extension IssuerConfiguration {
  /// How the client authenticates.
  public var clientAuth: ClientAuthentication { credential.clientAuth }
  /// The client secret.
  public var clientSecret: ConfiguredSecret<String>? { credential.clientSecret }
  /// The client's private key, PEM.
  public var clientKey: ConfiguredSecret<String>? { credential.clientKey }
  /// PEM file of the client certificate.
  public var clientCertificateFile: String? { credential.clientCertificateFile }

  /// Other names that the issuer's tokens have in `iss`: those of Google, and of version 1.0 of the same tenant at
  /// Entra, whose keys are the same (access-tokens: `requestedAccessTokenVersion`).
  public var otherIssuers: [String] {
    var others = provider?.preset.otherIssuers ?? []
    let (before, after) = ("https://login.microsoftonline.com/", "/v2.0")
    if provider == .entra || format == .entra, issuer.hasPrefix(before), issuer.hasSuffix(after) {
      let tenant = issuer.dropFirst(before.utf8.count).dropLast(after.utf8.count)
      let isTenant = !tenant.contains("/") && !["common", "organizations", "consumers"].contains(tenant)
      if isTenant { others.append("https://sts.windows.net/\(tenant)/") }
    }
    return others
  }
  /// Whether a token may have been requested by any client of this one's project, as at Google.
  public var trustsProject: Bool { provider?.preset.trustsProject ?? false }
  /// Whether the client's certificate is for assertions alone.
  public var certificateIsForAssertions: Bool { provider?.preset.certificateIsForAssertions ?? false }
  /// The algorithm of assertions by an RSA key, where the provider has one.
  public var rsaAssertionAlgorithm: SignatureAlgorithm? { provider?.preset.rsaAlgorithm }

  /// The files of assertions that other programs write: they may be missing when the configuration is loaded.
  public var assertionFiles: [String] { ([credential] + fallbackCredentials).compactMap(\.clientAssertion?.file) }
}

extension KeySetPolicy: ConfigurationSection {
  package init(reading keys: SectionReader) {
    let day = Duration.seconds(86_400)
    let minTTL = keys.value(
      "minTtl", .duration(upTo: day), default: .seconds(60),
      "Shortest time a key set is cached, whatever the issuer's Cache-Control.")
    let maxTTL = keys.value(
      "maxTtl", .duration(upTo: day * 30), default: day,
      "Longest time a key set is cached, whatever the issuer's Cache-Control.")
    let cooldown = keys.value(
      "cooldown", .duration(upTo: .seconds(3600)), default: .seconds(30),
      "Time between two fetches that unknown key ids cause.")
    let staleIfError = keys.value(
      "staleIfError", .duration(upTo: day * 7), default: .seconds(3600),
      "How long an expired key set serves while the issuer cannot be reached.")
    if minTTL > maxTTL {
      keys.problem("minTtl is longer than maxTtl", at: keys.isGiven("minTtl") ? "minTtl" : "maxTtl")
    }
    self.init(minTTL: minTTL, maxTTL: maxTTL, cooldown: cooldown, staleIfError: staleIfError)
  }
}

/// How long an issuer's answers about opaque tokens are kept (RFC 7662).
public struct IntrospectionConfiguration: Sendable, Equatable {
  /// The time, at most until the token expires; 0: each request is a new one. Default 0.
  public var cache: Duration
}

extension IntrospectionConfiguration: ConfigurationSection {
  package init(reading keys: SectionReader) {
    cache = keys.value(
      "cache", .duration(upTo: .seconds(3600)), default: .zero,
      "How long an answer is kept: as long a revoked token passes. A token that is not active is known as such for 10s at most.",
      example: .shown("30s"))
  }
}

/// Whether a proof needs a nonce: a Boolean in the engine, a word in the file.
private enum NonceRule: String, Sendable, CaseIterable {
  case off, required
}

extension ProofRules: ConfigurationSection {
  package init(reading keys: SectionReader) {
    let past = keys.value(
      "past", .duration(.seconds(1)...Self.longestPast), default: .seconds(60), "How old a proof may be, by its iat.")
    let future = keys.value(
      "future", .duration(upTo: .seconds(300)), default: .seconds(5),
      "How far ahead of this machine's clock a proof may be made.")
    let nonce = keys.value(
      "nonce", .choice(NonceRule.self, placeholder: .off), default: .off,
      "Whether a proof needs a nonce that an earlier response had: it cannot be made ahead of time then.")
    let nonceLife = keys.value(
      "nonceLife", .duration(.seconds(10)...Duration.seconds(86_400)), default: .seconds(300),
      "How long a nonce is given out; it is good for twice as long at most.")
    self.init(past: past, future: future, requiresNonce: nonce == .required, nonceLife: nonceLife)
  }
}

/// How a registered profile is logged in without its user: `ImplicitAccess` without its signer, which takes the client's
/// key.
public struct ImplicitGrantConfiguration: Sendable, Equatable {
  /// The grant.
  public var grant: ImplicitAccess.Grant
  /// The scope to ask for: less than what a user present may get.
  public var scope: String?
}

extension ImplicitGrantConfiguration: ConfigurationSection {
  package init(reading keys: SectionReader) {
    grant = keys.required(
      "grant", .choice(ImplicitAccess.Grant.self, placeholder: .tokenExchange), "Grant that gets the token.",
      example: .shown("token_exchange"))
    scope = keys.optional(
      "scope", .text, "Scope to request: less than what a user present may get.", example: .shown("profile:read"))
  }
}

/// An issuer's endpoints; they take precedence over the discovered ones (RFC 8414 section 2).
public struct EndpointsConfiguration: Sendable, Equatable {
  /// The token endpoint (RFC 6749 section 3.2).
  public var token: String?
  /// The authorization endpoint (RFC 6749 section 3.1).
  public var authorization: String?
  /// The key set (RFC 7517 section 5).
  public var jwks: String?
  /// The introspection endpoint (RFC 7662).
  public var introspection: String?
  /// The revocation endpoint (RFC 7009).
  public var revocation: String?
  /// The device authorization endpoint (RFC 8628).
  public var deviceAuthorization: String?
  /// The end-session endpoint (OpenID Connect RP-Initiated Logout 1.0).
  public var endSession: String?
}

extension EndpointsConfiguration {
  /// Adds the endpoints of github.com, or of a GitHub Enterprise server, where they are not given.
  fileprivate mutating func completeByGitHub(at issuer: String) {
    let end = "/login/oauth"
    let base =
      issuer.hasSuffix(end)
      ? String(issuer.dropLast(end.utf8.count)) : issuer.hasSuffix("/") ? String(issuer.dropLast()) : issuer
    guard issuer.hasSuffix(end) || base == "https://github.com" || base.hasSuffix(".ghe.com") else { return }
    authorization = authorization ?? "\(base)/login/oauth/authorize"
    token = token ?? "\(base)/login/oauth/access_token"
    deviceAuthorization = deviceAuthorization ?? "\(base)/login/device/code"
  }
}

extension EndpointsConfiguration: ConfigurationSection {
  package init(reading keys: SectionReader) {
    func endpoint(_ name: String, _ documentation: String, _ path: String) -> String? {
      keys.optional(name, .endpoint, documentation, example: .shown(.string("https://idp.example.com/\(path)")))
    }
    token = endpoint("token", "Token endpoint (RFC 6749).", "token")
    authorization = endpoint("authorization", "Authorization endpoint (RFC 6749).", "authorize")
    jwks = endpoint("jwks", "Key set (RFC 7517).", "jwks")
    introspection = endpoint("introspection", "Introspection endpoint (RFC 7662).", "introspect")
    revocation = endpoint("revocation", "Revocation endpoint (RFC 7009).", "revoke")
    deviceAuthorization = endpoint("deviceAuthorization", "Device authorization endpoint (RFC 8628).", "device")
    endSession = endpoint("endSession", "End-session endpoint (OpenID Connect RP-Initiated Logout).", "logout")
  }
}
