import AuthEngine
import HTTPMessages
import PosternSupport

/// Makes the decision points of a configuration.
struct DecisionPointFactory {
  let configuration: PosternConfiguration
  let clock: any EngineClock
  /// The state that all Adobe Pass providers of the process share.
  let adobePass: AdobePassState

  /// Every configured decision point. Those with the same configuration as in `previous` are kept, with their
  /// decisions; those with the same URL and rate limit keep the state of the limiter, because their server counts on.
  func decisionPoints(
    of issuers: [String: ConfiguredIssuer], _ devices: [String: DeviceIdentifier],
    after previous: ConfiguredEngine? = nil
  ) throws(ConfigurationProblems) -> [String: DecisionPoint] {
    var points: [String: DecisionPoint] = [:]
    let isIssuerKept = previous.map {
      IssuerFactory(configuration: configuration, clock: clock).sameness(with: $0.configuration)
    }
    for (name, given) in configuration.preauthorization {
      if given.issuer.flatMap({ isIssuerKept?($0) }) ?? true,
        let kept = unchanged(name, given, devices[name], since: previous)
      {
        points[name] = kept
        continue
      }
      var settings = try settings(name, given, given.issuer.flatMap { issuers[$0]?.issuer })
      if let old = previous?.configuration.preauthorization[name], old.baseURL == given.baseURL,
        old.requests.rateLimit == given.requests.rateLimit
      {
        settings.rateLimit = previous?.decisionPoints[name]?.settings.rateLimit
      }
      points[name] = DecisionPoint(
        name: name, settings: settings, provider: try provider(name, given, devices[name]))
    }
    return points
  }

  private func unchanged(
    _ name: String, _ given: PreauthorizationConfiguration, _ device: DeviceIdentifier?,
    since previous: ConfiguredEngine?
  ) -> DecisionPoint? {
    guard let previous, previous.configuration.preauthorization[name] == given,
      previous.deviceIdentifiers[name] == device?.value,
      OutboundFactory(configuration: configuration).hasSamePlainHTTP(as: previous.configuration)
    else { return nil }
    return previous.decisionPoints[name]
  }

  private func settings(
    _ name: String, _ given: PreauthorizationConfiguration, _ issuer: Issuer?
  ) throws(ConfigurationProblems) -> DecisionPoint.Settings {
    var settings = DecisionPoint.Settings()
    settings.issuer = given.issuer
    settings.subjectClaims = given.evaluation.subjectClaims
    settings.action = given.evaluation.action
    settings.maxBatch = given.requests.maxBatch
    settings.timeout = given.requests.timeout
    settings.attempts = given.requests.attempts
    settings.rateLimit = given.requests.rateLimit.map {
      DecisionRateLimiter(perSecond: $0.perSecond, burst: $0.burst)
    }
    settings.permitLifetime = given.cache.permit
    settings.denyLifetime = given.cache.deny
    settings.access = try OutboundFactory(configuration: configuration).access(given.tls, nil, given.proxy)
    settings.degradation = given.degradation
    if let token = given.credentials.token {
      settings.credential = .token(token.value)
    } else {
      switch (given.credentials.bearer, issuer) {
      case (.none, _): break
      case (.user, _?): settings.credential = .user
      case (.clientCredentials, let issuer?):
        settings.credential = .clientCredentials(ClientCredentialsGrant(issuer: issuer))
      case (_, nil): throw EngineFactory.problem("preauthorization.\(name).credentials.bearer", "needs an issuer")
      }
    }
    return settings
  }

  /// The provider that sends the requests to the decision point.
  private func provider(
    _ name: String, _ given: PreauthorizationConfiguration, _ device: DeviceIdentifier?
  ) throws(ConfigurationProblems) -> any DecisionProvider {
    let path = "preauthorization.\(name)"
    let baseURL = try EngineFactory.url(given.baseURL, "\(path).baseUrl")
    do {
      switch given.kind {
      case .authzen:
        var settings = AuthZENProvider.Settings(baseURL: baseURL, identifier: given.baseURL)
        if let metadata = given.options.metadataURL { settings.metadataURL = try HTTPURL(metadata) }
        settings.subjectType = given.evaluation.subjectType
        settings.resourceType = given.evaluation.resourceType
        guard let reasons = AuthZENReasons(code: given.options.reasons.code, message: given.options.reasons.message)
        else {
          throw EngineFactory.problem("\(path).reasons", "must be JSON Pointers, as in /reason_code")
        }
        settings.reasons = reasons
        return try AuthZENProvider(settings, clock: clock)
      case .opa:
        var settings = OPAProvider.Settings(baseURL: baseURL, path: given.options.path ?? "")
        settings.subjectType = given.evaluation.subjectType
        settings.resourceType = given.evaluation.resourceType
        return try OPAProvider(settings)
      case .accessManager:
        let own = given.issuer.flatMap { configuration.issuers[$0]?.accessManager }
        guard let evaluator = self.evaluator(given.credentials) else {
          throw EngineFactory.problem("\(path).credentials", "needs ssoTokenFile, or usernameFile and passwordFile")
        }
        var settings = AccessManagerProvider.Settings(baseURL: baseURL, evaluator: evaluator)
        settings.realmPath =
          given.options.realm.map { AccessManagerConfiguration(baseURL: "", realm: $0).realmPath } ?? own?.realmPath
          ?? settings.realmPath
        settings.application = given.options.application
        settings.cookieName = given.options.cookieName ?? own?.cookieName ?? settings.cookieName
        return try AccessManagerProvider(settings, clock: clock)
      case .adobePass:
        let pass = given.adobePass
        guard let statement = pass.softwareStatement, let provider = pass.serviceProvider, let device else {
          throw EngineFactory.problem("\(path).kind", "lacks what adobe-pass needs")
        }
        var settings = AdobePassProvider.Settings(
          baseURL: baseURL, serviceProvider: provider, mvpd: pass.mvpd, softwareStatement: statement.value,
          device: AdobePassDevice(identifier: device.value, information: device.information(pass.deviceInfo)))
        settings.login.redirectURLs = Set(pass.login.redirectURLs)
        settings.login.domainNames = Set(pass.login.domainNames)
        settings.login.urlOrigins = Set()
        for origin in pass.login.urlOrigins {
          settings.login.urlOrigins.insert(try EngineFactory.url(origin, "\(path).urlOrigins").origin)
        }
        settings.login.pollInterval = pass.login.pollInterval
        return try AdobePassProvider(settings, state: adobePass)
      }
    } catch let error as HTTPURLError {
      throw EngineFactory.problem("\(path).baseUrl", "is not usable: \(error.phrase)")
    } catch {
      throw (error as? ConfigurationProblems) ?? EngineFactory.problem(path, "is not usable")
    }
  }

  private func evaluator(_ credentials: DecisionCredentials) -> AccessManagerEvaluator? {
    if let token = credentials.ssoToken { return .ssoToken(token.value) }
    guard let name = credentials.username, let password = credentials.password else { return nil }
    return .user(name: name.value, password: password.value)
  }
}
