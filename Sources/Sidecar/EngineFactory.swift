import AuthEngine
import HTTPMessages
import JOSE
import PosternConfiguration
import PosternSupport

/// Configuration values to engine values.
struct EngineFactory {
  let configuration: PosternConfiguration
  /// By which client assertions are made.
  let clock: any EngineClock

  init(_ configuration: PosternConfiguration, clock: any EngineClock) {
    self.configuration = configuration
    self.clock = clock
  }

  /// Every configured issuer. The configuration's own checks leave nothing to find here but what only the engine knows.
  /// One that is configured just as for `previous` is kept.
  func issuers(after previous: ConfigurationSnapshot? = nil) throws(ConfigurationProblems) -> [String: ConfiguredIssuer]
  {
    var issuers: [String: ConfiguredIssuer] = [:]
    for (name, issuer) in configuration.issuers {
      if let previous, let kept = previous.issuers[name], isSame(issuer: name, as: previous) {
        issuers[name] = kept
        continue
      }
      issuers[name] = ConfiguredIssuer(
        issuer: try self.issuer(name, issuer), clientID: issuer.clientID, tokens: try tokens(name, issuer),
        keySets: KeySetPolicy(
          minTTL: issuer.jwks.minTTL, maxTTL: issuer.jwks.maxTTL, cooldown: issuer.jwks.cooldown,
          staleIfError: issuer.jwks.staleIfError),
        scope: issuer.scope, implicit: try implicitAccess(name, issuer),
        accessManager: try accessManager(name, issuer), redirectURI: issuer.redirectURI)
    }
    return issuers
  }

  /// Every configured resource server.
  func servers(of issuers: [String: ConfiguredIssuer]) throws(ConfigurationProblems) -> [String: ResourceServer] {
    var servers: [String: ResourceServer] = [:]
    for (name, resource) in configuration.resources {
      servers[name] = try server(name, resource, resource.issuer.flatMap { issuers[$0]?.issuer })
    }
    return servers
  }

  /// Whether all that makes the issuer is as it was for `previous`.
  func isSame(issuer name: String, as previous: ConfigurationSnapshot) -> Bool {
    let other = EngineFactory(previous.configuration, clock: clock)
    return configuration.issuers[name] == other.configuration.issuers[name]
      && configuration.development == other.configuration.development && usesDPoP(name) == other.usesDPoP(name)
  }

  /// The keys of every resource whose bodies are encrypted.
  func payloadKeys(_ replacements: FileReloadMonitor?) throws(ConfigurationProblems) -> [String: PayloadKeys] {
    var keys: [String: PayloadKeys] = [:]
    for (name, resource) in configuration.resources {
      if let given = resource.payloadEncryption {
        keys[name] = try PayloadKeys(given, of: name, replacements: replacements)
      }
    }
    return keys
  }

  /// What callers may bring along to have a token validated.
  func validation() throws(ConfigurationProblems) -> ValidationRules {
    var origins: Set<HTTPURL.Origin> = []
    for origin in configuration.validation.jwksOrigins {
      origins.insert(try url(origin, "validation.jwksOrigins").origin)
    }
    return ValidationRules(
      allowsInlineKeys: configuration.validation.inlineJwks, keySetOrigins: origins,
      allowsCallerClock: configuration.development.callerClock,
      allowsPlainHTTPOnLoopback: configuration.development.plainHTTPOnLoopback)
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
        throw problem("issuers.\(name).idToken.encryption.keyFiles[\(index)]", "is not usable: \(error.message)")
      }
    }
    let secretBits = (issuer.clientSecret?.value.reveal().utf8.count ?? 0) * 8
    let algorithms = try named(given.algorithms, "issuers.\(name).idToken.algorithms", SignatureAlgorithm.init(name:))
    let symmetric = algorithms.filter(\.isSymmetric)
    if let weak = symmetric.first(where: { $0.minimumKeyBitCount > secretBits }) {
      throw problem(
        "issuers.\(name).idToken.algorithms",
        "\(weak.name) needs a client secret of \(weak.minimumKeyBitCount / 8) bytes")
    }
    return AuthEngine.IDTokenConfiguration(
      issuer: issuer.issuer, algorithms: algorithms,
      clockSkew: given.clockSkew, trustedAudiences: given.trustedAudiences, requiresAuthorizedParty: given.requireAzp,
      clientSecret: issuer.clientSecret?.value,
      encryption: TokenEncryptionPolicy(
        isRequired: given.encryption.isRequired, keys: keys,
        algorithms: try named(
          given.encryption.algorithms, "issuers.\(name).idToken.encryption.algorithms",
          KeyManagementAlgorithm.init(name:))))
  }

  /// What the engine has under each of `names`: one that it does not know is a problem, and is not left out.
  private func named<Value>(
    _ names: [String], _ path: String, _ value: (String) -> Value?
  ) throws(ConfigurationProblems) -> [Value] {
    var values: [Value] = []
    for (index, name) in names.enumerated() {
      guard let value = value(name) else { throw problem("\(path)[\(index)]", "is not supported: \(name)") }
      values.append(value)
    }
    return values
  }

  private func server(
    _ name: String, _ resource: ResourceConfiguration, _ issuer: Issuer?
  ) throws(ConfigurationProblems) -> ResourceServer {
    let path = "resources.\(name)"
    let baseURL = try url(resource.baseURL, "\(path).baseUrl")
    var origins: [HTTPURL] = []
    for origin in resource.additionalOrigins { origins.append(try url(origin, "\(path).additionalOrigins")) }
    var issuer = issuer
    var identity = identity(resource.tls.clientCertificateFile, resource.tls.clientKey)
    if resource.senderConstraint == .mtls {
      guard ([baseURL] + origins).allSatisfy({ $0.origin.scheme == "https" }) else {
        throw problem("\(path).senderConstraint", "mtls needs https: without TLS there is no certificate")
      }
      // Tokens are bound to the certificate with which they are asked for (RFC 8705 section 3).
      if let identity { issuer?.clientIdentity = identity } else { identity = issuer?.clientIdentity }
    }
    var server = ResourceServer(
      name: name,
      baseURL: baseURL,
      additionalOrigins: origins,
      authentication: ResourceServer.Authentication(resource.auth),
      issuer: issuer,
      scope: resource.scope,
      audience: resource.audience,
      senderConstraint: ResourceServer.SenderConstraint(resource.senderConstraint),
      refreshOn: resource.refreshOn.map { Set($0.status) },
      reservedCookies: ssoCookie(resource),
      timeout: resource.timeout,
      maxBodyBytes: resource.maxBodyBytes,
      limits: resource.limits.map { limits($0, resource.timeout) },
      caFile: resource.tls.trust.caFile,
      clientIdentity: identity,
      pins: try pins(resource.tls.trust, path),
      cookies: resource.cookies.areStored
        ? CookiePolicy(maxCookies: resource.cookies.maxCookies, maxBytes: resource.cookies.maxBytes) : nil,
      allowsPlainHTTPOnLoopback: configuration.development.plainHTTPOnLoopback)
    server.advice = try adviceRules(resource)
    server.allowedHeaders = try allowedHeaders(resource, path)
    return server
  }

  /// Only what is reserved unless it stands here: `Authorization` can no more be allowed than a misspelt name.
  private func allowedHeaders(
    _ resource: ResourceConfiguration, _ path: String
  ) throws(ConfigurationProblems) -> Set<String> {
    for (index, name) in resource.allowedHeaders.enumerated() {
      let known = HTTPFieldRules.overridingNames
      guard HTTPFieldRules.isName(name), known.contains(HTTPFieldRules.canonical(name)) else {
        throw problem(
          "\(path).allowedHeaders[\(index)]",
          "must be one of \(known.joined(separator: ", ")): no other header can be allowed")
      }
    }
    return Set(resource.allowedHeaders)
  }

  private func adviceRules(_ resource: ResourceConfiguration) throws(ConfigurationProblems) -> AdviceRules? {
    guard resource.advice.isEnabled, let name = resource.issuer, let issuer = configuration.issuers[name] else {
      return nil
    }
    return AdviceRules(
      rounds: resource.advice.rounds, wait: resource.advice.wait,
      accessManager: try accessManager(name, issuer)?.baseURL, allowsAuthorization: issuer.redirectURI != nil)
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
      if let text { endpoints[endpoint] = try url(text, "\(path).endpoints") }
    }
    let authentication = try clientAuthentication(name, issuer)
    let pins = try pins(issuer.tls, path)
    do {
      return try Issuer(
        name: name, identifier: issuer.issuer, clientID: issuer.clientID ?? "",
        clientAuthentication: authentication, endpoints: endpoints, caFile: issuer.tls.caFile,
        clientIdentity: identity(issuer.clientCertificateFile, issuer.clientKey), pins: pins,
        allowsPlainHTTPOnLoopback: configuration.development.plainHTTPOnLoopback, usesDPoP: usesDPoP(name))
    } catch {
      throw problem("\(path).issuer", "is not usable: \(error)")
    }
  }

  private func accessManager(
    _ name: String, _ issuer: IssuerConfiguration
  ) throws(ConfigurationProblems) -> AccessManager? {
    try issuer.accessManager.map { given throws(ConfigurationProblems) in
      AccessManager(
        baseURL: try url(given.baseURL, "issuers.\(name).accessManager.baseUrl"), realmPath: given.realmPath,
        cookieName: given.cookieName, redirectURI: issuer.redirectURI)
    }
  }

  /// Implicit access; the client's key signs for it, whatever the client authenticates with.
  private func implicitAccess(
    _ name: String, _ issuer: IssuerConfiguration
  ) throws(ConfigurationProblems) -> ImplicitAccess? {
    guard let given = issuer.implicit else { return nil }
    let grant: ImplicitAccess.Grant =
      switch given.grant {
      case .tokenExchange: .tokenExchange
      case .jwtBearer: .jwtBearer
      case .clientCredentials: .clientCredentials
      }
    do throws(JOSEError) {
      let signer = try issuer.clientKey.map { key throws(JOSEError) in
        try AssertionSigner(key: JWK(pem: Array(key.value.reveal().utf8)), clock: clock)
      }
      return ImplicitAccess(grant: grant, scope: given.scope, signer: signer)
    } catch {
      throw problem("issuers.\(name).clientKeyFile", "is not usable: \(error.message)")
    }
  }

  /// Whether one of the issuer's resources takes none but bound tokens: all its tokens are asked for with proofs then.
  private func usesDPoP(_ issuer: String) -> Bool {
    configuration.resources.values.contains { $0.issuer == issuer && $0.senderConstraint == .dpop }
  }

  private func clientAuthentication(
    _ name: String, _ issuer: IssuerConfiguration
  ) throws(ConfigurationProblems) -> any AuthEngine.ClientAuthentication {
    switch (issuer.clientAuth, issuer.clientSecret?.value, issuer.clientKey?.value) {
    case (.clientSecretBasic, let secret?, _): return ClientSecretBasic(secret: secret)
    case (.clientSecretPost, let secret?, _): return ClientSecretPost(secret: secret)
    case (.privateKeyJWT, _, let key?):
      do throws(JOSEError) {
        return try PrivateKeyJWT(key: JWK(pem: Array(key.reveal().utf8)), clock: clock)
      } catch {
        throw problem("issuers.\(name).clientKeyFile", "is not usable: \(error.message)")
      }
    case (.tlsClientAuth, _, _): return TLSClientAuthentication()
    case (.none, _, _): return PublicClient()
    case (.clientSecretBasic, nil, _), (.clientSecretPost, nil, _), (.privateKeyJWT, _, nil):
      throw problem("issuers.\(name).clientAuth", "\(issuer.clientAuth.rawValue) lacks its secret or key")
    }
  }

  /// Half of the time that a request may take is the longest that a user without any waits for those of others: so much
  /// is left to it.
  private func limits(_ limits: ResourceLimitsConfiguration, _ timeout: Duration) -> OriginLimits {
    OriginLimits(
      concurrency: limits.concurrency, queue: limits.queue,
      breaker: limits.breaker.map { OriginLimits.Breaker(failures: $0.failures, openFor: $0.openFor) },
      patience: timeout / 2)
  }

  private func identity(_ certificateFile: String?, _ key: ConfiguredSecret<String>?) -> ClientIdentity? {
    guard let certificateFile, let key else { return nil }
    if case .file(let path) = key.source { return ClientIdentity(certificateFile: certificateFile, key: .file(path)) }
    return ClientIdentity(certificateFile: certificateFile, key: .text(key.value))
  }

  private func pins(_ trust: TrustConfiguration, _ path: String) throws(ConfigurationProblems) -> KeyPins? {
    guard !trust.pins.isEmpty else { return nil }
    do throws(KeyPinsError) {
      return try KeyPins(trust.pins, scope: trust.pinScope == .leaf ? .leaf : .chain)
    } catch {
      throw problem("\(path).tls.pins", "\(error)")
    }
  }

  /// The single sign-on cookie is the sidecar's to send, never a caller's.
  private func ssoCookie(_ resource: ResourceConfiguration) -> Set<String> {
    guard let manager = resource.issuer.flatMap({ configuration.issuers[$0]?.accessManager }) else { return [] }
    return [manager.cookieName ?? "iPlanetDirectoryPro"]
  }

  func url(_ text: String, _ path: String) throws(ConfigurationProblems) -> HTTPURL {
    do {
      return try HTTPURL(text)
    } catch {
      throw problem(path, "is not usable: \(error)")
    }
  }

  func problem(_ path: String, _ message: String) -> ConfigurationProblems {
    ConfigurationProblems([ConfigurationProblem(file: "configuration", keyPath: path, message: message)])
  }
}
