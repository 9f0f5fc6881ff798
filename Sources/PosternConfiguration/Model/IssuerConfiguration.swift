public import ConfigurationReading
import PosternJSON
public import PosternSupport

/// An OAuth 2.0 authorization server or OpenID provider, and who we are to it.
public struct IssuerConfiguration: Sendable, Equatable {
  /// The issuer identifier; its metadata is discovered there unless the endpoints are given.
  public var issuer: String
  /// The client's id; nil where the issuer only serves to validate tokens.
  public var clientID: String?
  /// How the client authenticates. Default `client_secret_basic` with a client secret, else `none`.
  public var clientAuth: ClientAuthentication
  /// The client secret.
  public var clientSecret: ConfiguredSecret<String>?
  /// The client's private key, PEM, for `private_key_jwt` and `tls_client_auth`.
  public var clientKey: ConfiguredSecret<String>?
  /// PEM file of the client certificate, for `tls_client_auth`.
  public var clientCertificateFile: String?
  /// Where the provider sends users back to.
  public var redirectURI: String?
  /// The scope to ask for.
  public var scope: String?
  /// The requirements on ID tokens.
  public var idToken: IDTokenConfiguration
  /// How long key sets are kept.
  public var jwks: KeySetConfiguration
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
      "Issuer identifier, exactly as the provider writes it. Its metadata is discovered there, unless the endpoints are given.",
      example: .shown("https://idp.example.com"))
    clientID = keys.optional("clientId", .text, "The client's id at the issuer.", example: .shown("shop"))
    let authentication = keys.optional(
      "clientAuth", .choice(ClientAuthentication.self, placeholder: .none),
      "How the client authenticates at the issuer. Left out: client_secret_basic with a client secret, else none.",
      example: .shown("client_secret_basic"))
    clientSecret = keys.secret(
      "clientSecret", .line, "File with the client secret.", exampleFile: .shown("/run/secrets/shop"))
    clientKey = keys.secret(
      "clientKey", .text,
      "PEM file of the client's private key, for private_key_jwt and tls_client_auth; the algorithm follows the key.",
      exampleFile: .commented("/run/secrets/shop-key.pem"))
    clientCertificateFile = keys.optional(
      "clientCertificateFile", .file,
      "PEM file of the client's certificate, with clientKeyFile, for tls_client_auth and senderConstraint: mtls.",
      example: .commented("/etc/postern/shop.pem"))
    redirectURI = keys.optional(
      "redirectUri", .redirectURI, "Where the provider sends users back to, for the SSO grant and postern login.",
      example: .commented("http://127.0.0.1:8765/callback"))
    scope = keys.optional(
      "scope", .text, "Scope to request, its parts separated by spaces; logins add the scopes of users' resources.",
      example: .shown("openid profile offline_access"))
    clientAuth = authentication ?? (Self.hasSecret("clientSecret", keys) ? .clientSecretBasic : .none)
    idToken = keys.section("idToken", IDTokenConfiguration.self, "Requirements on ID tokens.")
    jwks = keys.section("jwks", KeySetConfiguration.self, "How long the issuer's key set is kept.")
    implicit = keys.optionalSection(
      "implicit", ImplicitGrantConfiguration.self,
      "How a profile that was registered by an earlier login is logged in again without its user, for resources with auth: implicit."
    )
    endpoints = keys.section(
      "endpoints", EndpointsConfiguration.self, "Endpoints that take precedence over the discovered ones.",
      commented: true)
    accessManager = keys.optionalSection(
      "accessManager", AccessManagerConfiguration.self, "The access manager (PingAM, ForgeRock AM) behind the issuer.",
      commented: true)
    tls = keys.section("tls", TrustConfiguration.self, "Which servers to trust.")
    proxy = ProxyChoice.read(keys)
    checkClientAuthentication(keys)
  }

  private func checkClientAuthentication(_ keys: SectionReader) {
    func demand(_ secret: String) {
      if !Self.hasSecret(secret, keys) { keys.problem("\(clientAuth.rawValue) needs \(secret)File", at: "clientAuth") }
    }
    switch clientAuth {
    case .clientSecretBasic, .clientSecretPost:
      demand("clientSecret")
    case .privateKeyJWT:
      demand("clientKey")
    case .tlsClientAuth:
      demand("clientKey")
      if !keys.isGiven("clientCertificateFile") {
        keys.problem("tls_client_auth needs clientCertificateFile", at: "clientAuth")
      }
    case .none:
      break
    }
    if clientAuth != .none, !keys.isGiven("clientId") {
      keys.problem("\(clientAuth.rawValue) needs clientId", at: "clientAuth")
    }
    if keys.isGiven("clientCertificateFile"), !Self.hasSecret("clientKey", keys) {
      keys.problem("clientCertificateFile needs clientKeyFile", at: "clientCertificateFile")
    }
    let symmetric = idToken.algorithms.filter { $0.hasPrefix("HS") }
    if !symmetric.isEmpty, !Self.hasSecret("clientSecret", keys) {
      keys.problem("\(symmetric.joined(separator: ", ")) needs a client secret: it is the key", at: "idToken")
    }
  }

  private static func hasSecret(_ name: String, _ keys: SectionReader) -> Bool {
    [name, "\(name)File", "\(name)Env"].contains(where: keys.isGiven)
  }
}

/// How a client proves to the authorization server who it is (RFC 6749 section 2.3, RFC 7523, RFC 8705).
public enum ClientAuthentication: String, Sendable, Hashable, CaseIterable {
  /// The secret in the Authorization header (RFC 6749 section 2.3.1).
  case clientSecretBasic = "client_secret_basic"
  /// The secret in the form (RFC 6749 section 2.3.1).
  case clientSecretPost = "client_secret_post"
  /// An assertion signed with the client's key (RFC 7523 section 2.2).
  case privateKeyJWT = "private_key_jwt"
  /// A client certificate (RFC 8705 section 2.1).
  case tlsClientAuth = "tls_client_auth"
  /// Nothing but the client's id: a public client.
  case none
}

/// How long an issuer's key set is kept.
public struct KeySetConfiguration: Sendable, Equatable {
  /// The shortest time, whatever `Cache-Control` contains. Default 1 minute.
  public var minTTL: Duration
  /// The longest time, whatever `Cache-Control` contains. Default 1 day.
  public var maxTTL: Duration
  /// The time between two fetches for unknown key ids. Default 30 seconds.
  public var cooldown: Duration
  /// How long an expired set serves while the issuer cannot be reached. Default 1 hour.
  public var staleIfError: Duration
}

extension KeySetConfiguration: ConfigurationSection {
  package init(reading keys: SectionReader) {
    let day = Duration.seconds(86_400)
    minTTL = keys.value(
      "minTtl", .duration(upTo: day), default: .seconds(60),
      "Shortest time a key set is cached, whatever the issuer's Cache-Control.")
    maxTTL = keys.value(
      "maxTtl", .duration(upTo: day * 30), default: day,
      "Longest time a key set is cached, whatever the issuer's Cache-Control.")
    cooldown = keys.value(
      "cooldown", .duration(upTo: .seconds(3600)), default: .seconds(30),
      "Time between two fetches that unknown key ids cause.")
    staleIfError = keys.value(
      "staleIfError", .duration(upTo: day * 7), default: .seconds(3600),
      "How long an expired key set serves while the issuer cannot be reached.")
    if minTTL > maxTTL {
      keys.problem("minTtl is longer than maxTtl", at: keys.isGiven("minTtl") ? "minTtl" : "maxTtl")
    }
  }
}

/// How a registered profile is logged in without its user.
public struct ImplicitGrantConfiguration: Sendable, Equatable {
  /// The grants that can do it.
  public enum Grant: String, Sendable, Hashable, CaseIterable {
    /// RFC 8693.
    case tokenExchange = "token_exchange"
    /// RFC 7523 section 2.1.
    case jwtBearer = "jwt_bearer"
    /// RFC 6749 section 4.4.
    case clientCredentials = "client_credentials"
  }

  /// The grant.
  public var grant: Grant
  /// The scope to ask for: less than what a user present may get.
  public var scope: String?
}

extension ImplicitGrantConfiguration: ConfigurationSection {
  package init(reading keys: SectionReader) {
    grant = keys.required(
      "grant", .choice(Grant.self, placeholder: .tokenExchange), "Grant that gets the token.",
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
