import AuthEngine
import PosternSupport

extension PosternConfiguration {
  /// Checks across sections: names that refer to other sections, and requirements of sections on each other.
  func checkReferences(_ keys: SectionReader) {
    let context = keys.context
    for (index, rule) in (peers ?? []).enumerated() {
      let path = keys.path.key("peers").index(index)
      if let earlier = peers?.prefix(index).firstIndex(where: { $0.matches(all: rule) }) {
        context.warn("never decides: peers[\(earlier)] matches the same callers before it", at: path)
      }
      func check(_ names: [String]?, _ key: String, _ kind: String, among known: some Collection<String>) {
        for (index, name) in (names ?? []).enumerated() where name != "*" && !known.contains(name) {
          context.problem(Self.unknown(kind, name, among: known), at: path.key(key).index(index))
        }
      }
      check(rule.resources, "resources", "resource", among: resources.keys)
      check(rule.issuers, "issuers", "issuer", among: issuers.keys)
      check(rule.preauthorization, "preauthorization", "decision point", among: preauthorization.keys)
      if let methods = context.dependencies.methodNames { check(rule.methods, "methods", "method", among: methods) }
    }
    for (name, resource) in resources { check(resource, at: keys.path.key("resources").key(name), in: context) }
    for (name, provider) in preauthorization {
      let path = keys.path.key("preauthorization").key(name)
      if let issuer = provider.issuer, issuers[issuer] == nil {
        context.problem(Self.unknown("issuer", issuer, among: issuers.keys), at: path.key("issuer"))
      }
      if provider.credentials.bearer != .none, provider.issuer == nil {
        let message = "bearer: \(provider.credentials.bearer.rawValue) needs an issuer the token comes from"
        context.problem(message, at: path.key("credentials").key("bearer"))
      }
    }
    checkPins(keys)
    for (name, api) in gateway.protect where issuers[api.issuer] == nil {
      let path = keys.path.key("gateway").key("protect").key(name).key("issuer")
      context.problem(Self.unknown("issuer", api.issuer, among: issuers.keys), at: path)
    }
    if let path = gateway.listen?.path, path == listen.path {
      context.problem("is the path of listen.path, too", at: keys.path.key("gateway").key("listen").key("path"))
    }
  }

  /// Checks that every server has pins where that is required, and TLS, without which there is no certificate.
  private func checkPins(_ keys: SectionReader) {
    func path(_ section: String, _ name: String) -> ConfigurationPath { keys.path.key(section).key(name) }
    let locations =
      resources.map { (path("resources", $0.key), "baseUrl", [$0.value.locations.baseURL], $0.value.tls.trust) }
      + resources.map {
        (path("resources", $0.key), "additionalOrigins", $0.value.locations.additionalOrigins, $0.value.tls.trust)
      } + issuers.map { (path("issuers", $0.key), "issuer", [$0.value.issuer], $0.value.tls) }
      + preauthorization.map { (path("preauthorization", $0.key), "baseUrl", [$0.value.baseURL], $0.value.tls) }
      + [(keys.path.key("validation"), "jwksOrigins", validation.jwksOrigins, validation.tls)]
    for (section, key, urls, trust) in locations where trust.pinsRequired {
      guard urls.contains(where: { $0.lowercased().hasPrefix("http:") }) else { continue }
      keys.context.problem("plain http has no certificate, and tls.pinsRequired is set", at: section.key(key))
    }
    guard hardening.pinsRequired else { return }
    let servers =
      issuers.map { (path("issuers", $0.key), $0.value.tls) }
      + resources.map { (path("resources", $0.key), $0.value.tls.trust) }
      + preauthorization.map { (path("preauthorization", $0.key), $0.value.tls) }
      + (validation.jwksOrigins.isEmpty ? [] : [(keys.path.key("validation"), validation.tls)])
    for (section, trust) in servers where trust.pins == nil && !trust.pinsRequired {
      keys.context.problem("is missing: hardening.pinsRequired is set", at: section.key("tls").key("pins"))
    }
    let others = [
      ("development", "plainHTTPOnLoopback", "plain http has no certificate", development.plainHTTPOnLoopback),
      ("outbound", "plainHTTP", "plain http has no certificate", !outbound.plainHTTP.isEmpty),
    ]
    for (section, key, reason, isSet) in others where isSet {
      keys.context.problem("\(reason), and hardening.pinsRequired is set", at: keys.path.key(section).key(key))
    }
  }

  private func check(_ resource: ResourceConfiguration, at path: ConfigurationPath, in context: ReadingContext) {
    if resource.tokens.auth == .credential, resource.tokens.credential == nil {
      context.problem("auth: credential needs the section credential", at: path.key("auth"))
    }
    if resource.tokens.auth != .credential, resource.tokens.credential != nil {
      context.problem("goes with auth: credential only", at: path.key("credential"))
    }
    if resource.tokens.exchange == nil, resource.tokens.auth == .onBehalfOf {
      context.problem("auth: onBehalfOf needs the section exchange", at: path.key("auth"))
    }
    if resource.tokens.exchange != nil, resource.tokens.auth != .onBehalfOf {
      context.problem("goes with auth: onBehalfOf only", at: path.key("exchange"))
    }
    guard let name = resource.tokens.issuer else {
      if resource.tokens.auth.needsIssuer {
        context.problem("auth: \(resource.tokens.auth.rawValue) needs an issuer", at: path.key("auth"))
      }
      return
    }
    guard let issuer = issuers[name] else {
      context.problem(Self.unknown("issuer", name, among: issuers.keys), at: path.key("issuer"))
      return
    }
    if resource.tokens.auth.needsIssuer, issuer.clientID == nil {
      context.problem("auth: \(resource.tokens.auth.rawValue) needs issuers.\(name).clientId", at: path.key("auth"))
    }
    if resource.tokens.auth == .implicit, issuer.implicit == nil {
      context.problem("auth: implicit needs the section issuers.\(name).implicit", at: path.key("auth"))
    }
    if let exchange = resource.tokens.exchange { check(exchange, of: resource, at: path.key("exchange"), in: context) }
    if resource.tokens.auth == .clientCredentials, issuer.clientAuth == .none {
      let message =
        "issuers.\(name) has no client authentication; most issuers permit client credentials to confidential clients only"
      context.warn("\(message) (RFC 6749 section 4.4)", at: path.key("auth"))
    }
    if resource.tokens.senderConstraint == .mtls, let message = Self.bindingProblem(of: resource, issuer, named: name) {
      context.problem(message, at: path.key("senderConstraint"))
    }
  }

  private func check(
    _ exchange: ExchangeConfiguration, of resource: ResourceConfiguration, at path: ConfigurationPath,
    in context: ReadingContext
  ) {
    if let name = exchange.inboundIssuer, issuers[name] == nil {
      context.problem(Self.unknown("issuer", name, among: issuers.keys), at: path.key("inboundIssuer"))
    }
    if exchange.rules.dialect == .entra, exchange.rules.scope == nil {
      context.problem(
        "is missing: entra knows the API by its scope, api://ID/.default for all of them", at: path.key("scope"))
    }
    guard let name = resource.tokens.issuer, issuers[name]?.clientAuth == ClientAuthentication.none else { return }
    let reason = "issuers.\(name) has no client authentication (clientAuth)"
    if exchange.rules.dialect == .entra || exchange.rules.actor == .clientCredentials {
      context.problem("needs a confidential client: \(reason)", at: path.key("grant"))
    } else {
      context.warn("\(reason); most issuers exchange tokens for confidential clients only", at: path.key("grant"))
    }
  }

  /// Why tokens cannot be bound to the certificate that the resource will see (RFC 8705 section 3).
  private static func bindingProblem(
    of resource: ResourceConfiguration, _ issuer: IssuerConfiguration, named name: String
  ) -> String? {
    guard let own = resource.tls.clientCertificateFile ?? issuer.clientCertificateFile else {
      return "mtls needs a client certificate: tls.clientCertificateFile, or the issuer's clientCertificateFile"
    }
    guard !issuer.fallbackCredentials.contains(where: \.clientAuth.isByCertificate) else {
      return "tokens are bound to one certificate, and issuers.\(name).fallbackCredentials has others"
    }
    guard own != issuer.clientCertificateFile else { return nil }
    if issuer.clientAuth.isByCertificate {
      return
        "tokens are bound to the certificate that issuers.\(name) authenticates with; leave tls.clientCertificateFile out"
    }
    if resource.tokens.auth == .user || resource.tokens.auth == .implicit {
      return
        "users' tokens are bound to issuers.\(name).clientCertificateFile: give it, and leave tls.clientCertificateFile out"
    }
    return nil
  }

  private static func unknown(_ kind: String, _ name: String, among names: some Sequence<String>) -> String {
    Suggestion.appended(to: "there is no \(kind) \(ConfigurationPath.printable(name))", for: name, among: names)
  }
}
