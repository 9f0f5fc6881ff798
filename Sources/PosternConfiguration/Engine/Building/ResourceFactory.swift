import AuthEngine
import HTTPMessages
import PosternSupport

/// Makes the resource servers of a configuration, and the rules of token validation.
struct ResourceFactory {
  let configuration: PosternConfiguration

  /// Every configured resource server.
  func servers(of issuers: [String: ConfiguredIssuer]) throws(ConfigurationProblems) -> [String: ResourceServer] {
    var servers: [String: ResourceServer] = [:]
    for (name, resource) in configuration.resources {
      servers[name] = try server(name, resource, resource.tokens.issuer.flatMap { issuers[$0] })
    }
    return servers
  }

  /// The keys of every resource whose bodies are encrypted.
  func payloadKeys(_ report: @escaping ConfiguredEngine.FileReport) throws(ConfigurationProblems) -> [String:
    PayloadKeys]
  {
    var keys: [String: PayloadKeys] = [:]
    for (name, resource) in configuration.resources {
      if let given = resource.payloadEncryption {
        keys[name] = try PayloadKeys(given, of: name, report: report)
      }
    }
    return keys
  }

  /// The keys and key sets that callers may pass to validate a token.
  func validation() throws(ConfigurationProblems) -> ValidationRules {
    var origins: Set<HTTPURL.Origin> = []
    for origin in configuration.validation.jwksOrigins {
      origins.insert(try EngineFactory.url(origin, "validation.jwksOrigins").origin)
    }
    return ValidationRules(
      allowsInlineKeys: configuration.validation.inlineJwks, keySetOrigins: origins,
      allowsCallerClock: configuration.development.callerClock,
      access: try OutboundFactory(configuration: configuration).access(configuration.validation.tls, nil, .outbound))
  }

  private func server(
    _ name: String, _ resource: ResourceConfiguration, _ configured: ConfiguredIssuer?
  ) throws(ConfigurationProblems) -> ResourceServer {
    let path = "resources.\(name)"
    let baseURL = try EngineFactory.url(resource.locations.baseURL, "\(path).baseUrl")
    var origins: [HTTPURL] = []
    for origin in resource.locations.additionalOrigins {
      origins.append(try EngineFactory.url(origin, "\(path).additionalOrigins"))
    }
    var issuer = configured?.issuer
    var identity = EngineFactory.identity(resource.tls.clientCertificateFile, resource.tls.clientKey)
    if resource.tokens.senderConstraint == .mtls {
      guard ([baseURL] + origins).allSatisfy({ $0.origin.scheme == "https" }) else {
        throw EngineFactory.problem("\(path).senderConstraint", "mtls needs https: without TLS there is no certificate")
      }
      // Tokens are bound to the certificate with which they are requested (RFC 8705 section 3).
      identity = identity ?? issuer?.access.tls.clientIdentity
      issuer?.access.tls.clientIdentity = identity
    }
    var server = ResourceServer(
      name: name,
      baseURL: baseURL,
      additionalOrigins: origins,
      authentication: resource.tokens.auth,
      issuer: issuer,
      scope: resource.tokens.scope,
      audience: resource.tokens.audience,
      senderConstraint: resource.tokens.senderConstraint,
      refreshOn: resource.refreshOn.map { Set($0.status) },
      reservedCookies: ssoCookie(resource),
      timeout: resource.bounds.timeout,
      maxBodyBytes: resource.bounds.maxBodyBytes,
      limits: resource.bounds.limits,
      access: try OutboundFactory(configuration: configuration)
        .access(resource.tls.trust, identity, resource.locations.proxy),
      cookies: resource.cookies.areStored
        ? CookiePolicy(maxCookies: resource.cookies.maxCookies, maxBytes: resource.cookies.maxBytes) : nil)
    if let rules = resource.tokens.exchange?.rules {
      server.exchange = rules
      // What a token of the resource is good for.
      server.scope = rules.scope
      server.audience = rules.audiences.isEmpty ? nil : rules.audiences.joined(separator: " ")
    }
    server.idleTimeout = resource.bounds.idleTimeout
    server.whenNoSession = resource.tokens.whenNoSession
    server.pinsRequired = resource.tls.trust.pinsRequired || configuration.hardening.pinsRequired
    server.advice = adviceRules(resource, configured)
    server.allowedHeaders = try allowedHeaders(resource, path)
    return server
  }

  /// The reserved header fields that callers may send anyway: neither `Authorization` nor a misspelt name can be
  /// allowed.
  private func allowedHeaders(
    _ resource: ResourceConfiguration, _ path: String
  ) throws(ConfigurationProblems) -> Set<String> {
    for (index, name) in resource.allowedHeaders.enumerated() {
      let known = HTTPFieldRules.overridingNames + SecondURLField.names
      guard HTTPFieldRules.isName(name),
        known.contains(HTTPFieldRules.canonical(name)) || SecondURLField.isOne(name)
      else {
        throw EngineFactory.problem(
          "\(path).allowedHeaders[\(index)]",
          "must be one of \(known.joined(separator: ", ")): no other header can be allowed")
      }
    }
    return Set(resource.allowedHeaders)
  }

  private func adviceRules(_ resource: ResourceConfiguration, _ issuer: ConfiguredIssuer?) -> AdviceRules? {
    guard var rules = resource.advice, let issuer else { return nil }
    rules.accessManager = issuer.accessManager?.baseURL
    rules.allowsAuthorization = issuer.redirectURI != nil
    return rules
  }

  /// The single sign-on cookie is the sidecar's to send, never a caller's.
  private func ssoCookie(_ resource: ResourceConfiguration) -> Set<String> {
    guard let manager = resource.tokens.issuer.flatMap({ configuration.issuers[$0]?.accessManager }) else { return [] }
    return [manager.cookieName ?? "iPlanetDirectoryPro"]
  }
}
