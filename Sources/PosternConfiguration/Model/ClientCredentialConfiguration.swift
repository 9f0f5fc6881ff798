package import AuthEngine
public import JOSE
import PosternJSON
public import PosternSupport

/// A credential of the client: how it authenticates at the issuer, and with what.
public struct ClientCredentialConfiguration: Sendable, Equatable {
  /// How the client authenticates. Default `client_secret_basic` with a client secret, else `none`; in
  /// `fallbackCredentials` that of the issuer.
  public internal(set) var clientAuth: ClientAuthentication
  /// The client secret.
  public var clientSecret: ConfiguredSecret<String>?
  /// The client's private key, PEM or JWK, for `private_key_jwt` and client certificates.
  public var clientKey: ConfiguredSecret<String>?
  /// PEM file of the client certificate.
  public var clientCertificateFile: String?
  /// The assertion that another program writes, for `client_assertion`.
  public var clientAssertion: ClientAssertionConfiguration?
  /// The `kid` of the client's key; nil: that of the JWK, if there is one.
  public var clientKeyID: String?
  /// The audience of assertions; nil: that of the provider's preset, else the issuer.
  package var assertionAudience: AssertionForm.Audience?
  /// How assertions name their key; nil: by the provider's preset, else in every way that is known.
  public var assertionHeaders: [AssertionHeader]?
  /// The algorithm of assertions; nil: that of the key.
  public var assertionAlgorithm: SignatureAlgorithm?
  /// Whether the method was given.
  let isMethodGiven: Bool
}

extension ClientCredentialConfiguration: ConfigurationSection {
  package init(reading keys: SectionReader) {
    let authentication = keys.optional(
      "clientAuth", .choice(ClientAuthentication.self, placeholder: .none),
      """
      How the client authenticates at the issuer. Left out: client_secret_basic with a client secret, else none; in fallbackCredentials as the \
      issuer's.
      """,
      example: .shown("client_secret_basic"))
    clientSecret = keys.secret(
      "clientSecret", .line, "File with the client secret.", exampleFile: .shown("/run/secrets/shop"))
    clientKey = keys.secret(
      "clientKey", .text,
      """
      File with the client's private key, for private_key_jwt and client certificates (these need PEM): PEM, a JWK, or the JSON file of a \
      ZITADEL key.
      """,
      exampleFile: .commented("/run/secrets/shop-key.pem"))
    clientCertificateFile = keys.optional(
      "clientCertificateFile", .file,
      """
      PEM file of the client's certificate, with clientKeyFile, for tls_client_auth, self_signed_tls_client_auth, senderConstraint: mtls, and \
      the thumbprints in assertions of private_key_jwt.
      """,
      example: .commented("/etc/postern/shop.pem"))
    clientKeyID = keys.optional(
      "clientKeyId", .text, "The kid that the issuer knows the client's key by. Left out: that of the JWK, if any.",
      example: .commented("2026-11"))
    assertionAudience = keys.optional(
      "assertionAudience", .choice(AssertionForm.Audience.self, placeholder: .issuer),
      "Audience (aud) of the client's assertions: the issuer, its token endpoint, or the URL that is called. Left out: by provider, else issuer.",
      example: .commented("tokenEndpoint"))
    assertionHeaders = keys.optionalList(
      "assertionHeaders", of: .choice(AssertionHeader.self, placeholder: .kid),
      "How assertions name their key: kid, and thumbprints of clientCertificateFile. Left out: by provider, else all that there are.",
      example: .commented(["x5t#S256"]))
    assertionAlgorithm = keys.optional(
      "assertionAlgorithm", .algorithm(among: SignatureAlgorithm.asymmetric),
      "Algorithm of the client's assertions. Left out: by the key (its alg, else its type), and PS256 for RSA keys at Entra.",
      example: .commented("PS256"))
    clientAssertion = keys.optionalSection(
      "clientAssertion", ClientAssertionConfiguration.self,
      "For client_assertion: a JWT about the client that another program writes and replaces.", commented: true)
    isMethodGiven = authentication != nil
    clientAuth = authentication ?? (Self.hasSecret("clientSecret", keys) ? .clientSecretBasic : .none)
    if keys.isGiven("clientCertificateFile"), !Self.hasSecret("clientKey", keys) {
      keys.problem("clientCertificateFile needs clientKeyFile", at: "clientCertificateFile")
    }
  }

  /// Takes in what the provider's preset has, and the configuration has not.
  mutating func complete(by preset: ProviderPreset) {
    if !isMethodGiven, clientAuth == .clientSecretBasic, let method = preset.secretMethod { clientAuth = method }
    if assertionAudience == nil { assertionAudience = preset.assertionAudience }
    if assertionHeaders == nil { assertionHeaders = preset.assertionHeaders }
  }

  /// Checks that what the method needs is given in the section of `keys`, which is the issuer's.
  func check(_ keys: SectionReader) {
    let missing = clientAuth.materials.first { material in
      material.isSecret ? !Self.hasSecret(material.key, keys) : !keys.isGiven(material.key)
    }
    if let message = problem(missing) { keys.problem(message, at: "clientAuth") }
    if clientAssertion != nil, !clientAuth.materials.contains(.assertion) {
      keys.warn("it is used with clientAuth: client_assertion only", at: "clientAssertion")
    }
  }

  /// The reason why it cannot be used as one of `fallbackCredentials`; nil when it can.
  var problemAsFallback: String? {
    guard clientAuth != .none else { return "none is no credential: give clientAuth and what it needs" }
    let missing = clientAuth.materials.first { material in
      switch material {
      case .secret: clientSecret == nil
      case .key: clientKey == nil
      case .certificate: clientCertificateFile == nil
      case .assertion: clientAssertion == nil
      }
    }
    return problem(missing)
  }

  private func problem(_ missing: ClientAuthentication.Material?) -> String? {
    if let missing {
      return "\(clientAuth.rawValue) needs \(missing.key)\(missing.isSecret ? "File" : "")"
    }
    guard clientAuth == .clientSecretJWT, let count = clientSecret?.value.reveal().utf8.count,
      count < Self.minimumKeyByteCount
    else { return nil }
    return
      "client_secret_jwt needs a client secret of at least \(Self.minimumKeyByteCount) bytes, this one has \(count)"
  }

  /// RFC 7518 section 3.2: a key of HS256 has at least as many bytes as its hash.
  private static let minimumKeyByteCount = 32

  static func hasSecret(_ name: String, _ keys: SectionReader) -> Bool {
    [name, "\(name)File", "\(name)Env"].contains(where: keys.isGiven)
  }
}

/// How a client proves to the authorization server who it is (RFC 6749 section 2.3, RFC 7523, RFC 8705).
public enum ClientAuthentication: String, Sendable, Hashable, CaseIterable {
  /// The secret in the Authorization header (RFC 6749 section 2.3.1).
  case clientSecretBasic = "client_secret_basic"
  /// The secret in the form (RFC 6749 section 2.3.1).
  case clientSecretPost = "client_secret_post"
  /// An assertion with a MAC whose key is the secret (RFC 7523 section 2.2).
  case clientSecretJWT = "client_secret_jwt"
  /// An assertion signed with the client's key (RFC 7523 section 2.2).
  case privateKeyJWT = "private_key_jwt"
  /// A client certificate of an authority (RFC 8705 section 2.1).
  case tlsClientAuth = "tls_client_auth"
  /// A client certificate whose key is registered (RFC 8705 section 2.2).
  case selfSignedTLSClientAuth = "self_signed_tls_client_auth"
  /// An assertion that another program writes to a file (RFC 7523 section 2.2).
  case clientAssertion = "client_assertion"
  /// Nothing but the client's id: a public client.
  case none

  /// The parts of a credential.
  enum Material {
    case secret, key, certificate, assertion

    /// The name of its key in the configuration.
    var key: String {
      switch self {
      case .secret: "clientSecret"
      case .key: "clientKey"
      case .certificate: "clientCertificateFile"
      case .assertion: "clientAssertion"
      }
    }

    /// Whether it may come from a file, a variable or the configuration itself.
    var isSecret: Bool { self == .secret || self == .key }
  }

  /// The parts that the method needs.
  var materials: [Material] {
    switch self {
    case .clientSecretBasic, .clientSecretPost, .clientSecretJWT: [.secret]
    case .privateKeyJWT: [.key]
    case .tlsClientAuth, .selfSignedTLSClientAuth: [.key, .certificate]
    case .clientAssertion: [.assertion]
    case .none: []
    }
  }

  /// Whether the client's certificate authenticates it.
  public var isByCertificate: Bool { materials.contains(.certificate) }
}

/// An assertion about the client that another program writes and replaces (RFC 7523 section 2.2).
public struct ClientAssertionConfiguration: Sendable, Equatable {
  /// The file; it need not exist when the configuration is loaded.
  public var file: String
  /// The type to announce: `jwt-bearer`, `jwt-spiffe`, or a URN.
  public var type: String
  /// The audience without which an assertion is not sent; nil for any.
  public var audience: String?
}

extension ClientAssertionConfiguration: ConfigurationSection {
  package init(reading keys: SectionReader) {
    file = keys.required(
      "file", .writablePath,
      """
      File with the assertion: a Kubernetes projected token, the file of a SPIFFE helper. Read for each request; it may be missing at the start.
      """, example: .shown("/var/run/secrets/tokens/corp"))
    type = keys.value(
      "type", .assertionType, default: "jwt-bearer",
      "Type of the assertion: jwt-bearer (RFC 7523), jwt-spiffe (a JWT-SVID), or the URN of another client_assertion_type."
    )
    audience = keys.optional(
      "audience", .text, "Audience that the assertion must have; one without it is not sent.",
      example: .commented("https://idp.example.com"))
  }
}

extension ValueForm where Value == String {
  /// `jwt-bearer`, `jwt-spiffe` or a URN.
  fileprivate static var assertionType: Self {
    let pattern: JSONValue = "^(jwt-bearer|jwt-spiffe|urn:[!-~]+)$"
    return text(schema: { ["type": "string", "pattern": pattern] }) { text, _ throws(ValueProblem) in
      let isURN =
        text.utf8.starts(with: "urn:".utf8) && text.utf8.count > 4
        && text.utf8.allSatisfy { (0x21..<0x7F).contains($0) }
      guard isURN || text == "jwt-bearer" || text == "jwt-spiffe" else {
        throw ValueProblem("must be jwt-bearer, jwt-spiffe or a URN")
      }
      return text
    }
  }
}
