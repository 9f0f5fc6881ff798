import AuthEngine
import HTTPMessages
import JOSE
import PosternSupport
import TokenValidation

/// Makes the issuers of a configuration.
struct IssuerFactory {
  let configuration: PosternConfiguration
  /// The clock of client assertions.
  let clock: any EngineClock
  /// The issuers with a resource that accepts only bound tokens: all their tokens are requested with proofs.
  private let issuersWithDPoP: Set<String>

  init(configuration: PosternConfiguration, clock: any EngineClock) {
    self.configuration = configuration
    self.clock = clock
    issuersWithDPoP = Self.issuersWithDPoP(configuration)
  }

  /// Every configured issuer. The configuration has been checked; only the engine's own checks can fail here. Issuers
  /// with the same configuration as in `previous` are kept.
  func issuers(after previous: ConfiguredEngine? = nil) throws(ConfigurationProblems) -> [String: ConfiguredIssuer] {
    var issuers: [String: ConfiguredIssuer] = [:]
    issuers.reserveCapacity(configuration.issuers.count)
    let isSame = previous.map { sameness(with: $0.configuration) }
    for (name, issuer) in configuration.issuers {
      if let kept = previous?.issuers[name], isSame?(name) == true {
        issuers[name] = kept
        continue
      }
      issuers[name] = ConfiguredIssuer(
        issuer: try self.issuer(name, issuer), clientID: issuer.clientID,
        tokenRules: PreparedTokenRules(try tokens(name, issuer)),
        keySets: issuer.jwks, scope: issuer.scope, implicit: try implicitAccess(name, issuer),
        accessManager: try accessManager(name, issuer), redirectURI: issuer.redirectURI,
        introspectsJWTs: issuer.introspect == .always, answerLife: issuer.introspection.cache,
        proofs: issuer.dpop)
    }
    return issuers
  }

  /// Returns a function that decides whether all that makes the issuer of a name is as it was in `other`.
  func sameness(with other: PosternConfiguration) -> (String) -> Bool {
    let isSameMode = OutboundFactory(configuration: configuration).hasSamePlainHTTP(as: other)
    let withDPoP = Self.issuersWithDPoP(other)
    return { [configuration, issuersWithDPoP] name in
      isSameMode && issuersWithDPoP.contains(name) == withDPoP.contains(name)
        && configuration.issuers[name] == other.issuers[name]
    }
  }

  private func issuer(_ name: String, _ issuer: IssuerConfiguration) throws(ConfigurationProblems) -> Issuer {
    let path = "issuers.\(name)"
    let given: [(ProviderEndpoint, String?)] = [
      (.token, issuer.endpoints.token), (.authorization, issuer.endpoints.authorization),
      (.jwks, issuer.endpoints.jwks), (.introspection, issuer.endpoints.introspection),
      (.revocation, issuer.endpoints.revocation), (.deviceAuthorization, issuer.endpoints.deviceAuthorization),
      (.endSession, issuer.endpoints.endSession),
    ]
    var endpoints: [ProviderEndpoint: HTTPURL] = [:]
    for (endpoint, text) in given {
      if let text { endpoints[endpoint] = try EngineFactory.url(text, "\(path).endpoints") }
    }
    let credentials = CredentialFactory(clock: clock, rsaAlgorithm: issuer.rsaAssertionAlgorithm)
    let authentication = try credentials.authentication(issuer.credential, path)
    var fallbacks: [any AuthEngine.ClientAuthentication] = []
    for (index, fallback) in issuer.fallbackCredentials.enumerated() {
      fallbacks.append(try credentials.fallback(fallback, "\(path).fallbackCredentials[\(index)]"))
    }
    let identity =
      presentsCertificate(name, issuer)
      ? EngineFactory.identity(issuer.clientCertificateFile, issuer.clientKey) : nil
    let access = try OutboundFactory(configuration: configuration).access(issuer.tls, identity, issuer.proxy)
    do {
      var made = try Issuer(
        name: name, identifier: issuer.issuer, clientID: issuer.clientID ?? "",
        clientAuthentication: authentication, fallbackAuthentications: fallbacks, endpoints: endpoints,
        access: access, usesDPoP: issuersWithDPoP.contains(name))
      made.answerRules = TokenAnswerRules(
        acceptsAnyType: issuer.tokenType == .any, separatesByComma: issuer.scopeSeparator == .comma)
      return made
    } catch {
      throw EngineFactory.problem("\(path).issuer", "is not usable: \(error.phrase)")
    }
  }

  /// Whether the client's certificate is presented to the issuer's servers. One that is for assertions alone would lead
  /// requests to endpoints for bound tokens, and a key as a JWK serves for nothing else.
  private func presentsCertificate(_ name: String, _ issuer: IssuerConfiguration) -> Bool {
    guard issuer.clientAuth == .privateKeyJWT else { return true }
    let isBound = configuration.resources.values.contains {
      $0.tokens.issuer == name && $0.tokens.senderConstraint == .mtls
    }
    if isBound { return true }
    let isPEM = issuer.clientKey.map { (try? ClientKey($0.value))?.isPEM ?? true } ?? true
    return isPEM && !issuer.certificateIsForAssertions
  }

  private func tokens(
    _ name: String, _ issuer: IssuerConfiguration
  ) throws(ConfigurationProblems) -> AuthEngine.IDTokenConfiguration {
    let given = issuer.idToken
    var keys: [JWK] = []
    for (index, key) in given.encryption.keys.enumerated() {
      do throws(JOSEError) {
        keys.append(try JWK(pem: Array(key.value.reveal().utf8)))
      } catch {
        throw EngineFactory.problem(
          "issuers.\(name).idToken.encryption.keyFiles[\(index)]", "is not usable: \(error.message)")
      }
    }
    let secretBits = (issuer.clientSecret?.value.reveal().utf8.count ?? 0) * 8
    let symmetric = given.algorithms.filter(\.isSymmetric)
    if let weak = symmetric.first(where: { $0.minimumKeyBitCount > secretBits }) {
      throw EngineFactory.problem(
        "issuers.\(name).idToken.algorithms",
        "\(weak.name) needs a client secret of \(weak.minimumKeyBitCount / 8) bytes")
    }
    var tokens = AuthEngine.IDTokenConfiguration(
      issuer: issuer.issuer, algorithms: given.algorithms, clockSkew: given.clockSkew,
      trustedAudiences: given.trustedAudiences, requiresAuthorizedParty: given.requireAzp,
      clientSecret: issuer.clientSecret?.value,
      encryption: TokenEncryptionPolicy(
        isRequired: given.encryption.isRequired, keys: keys, algorithms: given.encryption.algorithms))
    tokens.rejectsUnexpectedNonce = given.rejectUnexpectedNonce
    tokens.requiresLogoutExpiry = given.requireLogoutExp
    tokens.trustedAuthorizedParties = given.trustedAuthorizedParties
    tokens.trustsProject = issuer.trustsProject
    tokens.otherIssuers = issuer.otherIssuers
    tokens.accessTokenFormat = issuer.format ?? .recognized
    tokens.clientID = issuer.clientID
    if let provider = Provider.suggested(issuer: issuer.issuer), let format = provider.accessTokenFormat {
      tokens.likelyProvider = LikelyProvider(name: provider.rawValue, format: format)
    }
    return tokens
  }

  private func accessManager(
    _ name: String, _ issuer: IssuerConfiguration
  ) throws(ConfigurationProblems) -> AccessManager? {
    try issuer.accessManager.map { given throws(ConfigurationProblems) in
      AccessManager(
        baseURL: try EngineFactory.url(given.baseURL, "issuers.\(name).accessManager.baseUrl"),
        realmPath: given.realmPath,
        cookieName: given.cookieName, redirectURI: issuer.redirectURI)
    }
  }

  /// Implicit access; the client's key signs for it, whatever the client authenticates with.
  private func implicitAccess(
    _ name: String, _ issuer: IssuerConfiguration
  ) throws(ConfigurationProblems) -> ImplicitAccess? {
    guard let given = issuer.implicit else { return nil }
    do throws(JOSEError) {
      let signer = try issuer.clientKey.map { file throws(JOSEError) in
        let key = try issuer.credential.signingKey(in: file.value)
        return try AssertionSigner(
          key: key, form: issuer.credential.assertionForm(for: key, rsaAlgorithm: issuer.rsaAssertionAlgorithm),
          clock: clock)
      }
      return ImplicitAccess(grant: given.grant, scope: given.scope, signer: signer)
    } catch {
      throw EngineFactory.problem("issuers.\(name).clientKeyFile", "is not usable: \(error.message)")
    }
  }

  private static func issuersWithDPoP(_ configuration: PosternConfiguration) -> Set<String> {
    Set(configuration.resources.values.compactMap { $0.tokens.senderConstraint == .dpop ? $0.tokens.issuer : nil })
  }
}
