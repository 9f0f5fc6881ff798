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
  /// What ID tokens must be like.
  public var idToken: IDTokenConfiguration
  /// How long key sets are kept.
  public var jwks: KeySetConfiguration
  /// How a registered profile is logged in without its user; nil where that is not set up.
  public var implicit: ImplicitGrantConfiguration?
  /// Endpoints that go before the discovered ones.
  public var endpoints: EndpointsConfiguration
  /// The access manager behind the issuer; nil where there is none.
  public var accessManager: AccessManagerConfiguration?
  /// Which servers to trust.
  public var tls: TrustConfiguration

  /// The issuer with that identifier, and defaults for everything else.
  public init(issuer: String) {
    self = .allDefaults
    self.issuer = issuer
  }
}

extension IssuerConfiguration: ConfigurationSection {
  init(reading keys: SectionReader) {
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
      "scope", .text, "Scope to ask for, its parts separated by spaces.",
      example: .shown("openid profile offline_access"))
    clientAuth = authentication ?? (Self.hasSecret("clientSecret", keys) ? .clientSecretBasic : .none)
    idToken = keys.section("idToken", IDTokenConfiguration.self, "What ID tokens must be like.")
    jwks = keys.section("jwks", KeySetConfiguration.self, "How long the issuer's key set is kept.")
    implicit = keys.optionalSection(
      "implicit", ImplicitGrantConfiguration.self,
      "How a profile that was registered by an earlier login is logged in again without its user, for resources with auth: implicit."
    )
    endpoints = keys.section(
      "endpoints", EndpointsConfiguration.self, "Endpoints that go before the discovered ones.", commented: true)
    accessManager = keys.optionalSection(
      "accessManager", AccessManagerConfiguration.self, "The access manager (PingAM, ForgeRock AM) behind the issuer.",
      commented: true)
    tls = keys.section("tls", TrustConfiguration.self, "Which servers to trust.")
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
