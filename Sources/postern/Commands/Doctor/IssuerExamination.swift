import AuthEngine
import Glibc
package import HTTPMessages
import PosternConfiguration
import PosternJSON
import PosternObservability
import PosternSupport
package import Sidecar

/// The checks of `postern doctor` at the issuers: discovery, keys, tokens, redirect URIs, clocks. They use the engine's
/// own parts, so that what works here works in the sidecar.
package struct IssuerExamination: Sendable {
  /// One issuer, with the numbers of its checks in the report.
  private struct Target: Sendable {
    let name: String
    let issuer: Issuer
    let keys: RemoteJWKSet
    let redirectURI: String?
    let scope: String
    /// The configured preset.
    let provider: Provider?
    let grants: [Grant]
    let checks: Checks
  }

  /// A token request for a resource; nil where none is made, for the reason.
  private struct Grant: Sendable {
    let check: Int
    let resource: String
    let grant: ClientCredentialsGrant
  }

  private struct Checks: Sendable {
    let discovery: Int
    let keys: Int
    /// Nil where a token is requested, which shows more, and where there is nothing to authenticate with.
    let authentication: Int?
    let redirect: Int
    let clock: Int
  }

  /// The clocks' differences that the engine has seen, by issuer.
  private final class ClockObserver: EngineObserver {
    let skews = Locked<[String: Duration]>([:])

    func observe(_ event: EngineEvent, in scope: CallScope) {
      guard case .clockCompared(let issuer, let skew) = event else { return }
      skews.withLock { $0[issuer] = skew }
    }
  }

  /// More token requests to one issuer find nothing new.
  private static let maxGrants = 10

  private let clock = SystemClock()
  private let observer = ClockObserver()
  private let services: Services
  private let discovery: ProviderDiscovery
  private let tokens: ClientCredentialsTokens
  private let keySets: KeySetStore
  private let patience: Duration
  private let report: DoctorReport
  private let targets: [Target]

  /// Announces the checks of all issuers; each request may take `patience`.
  package init(
    _ snapshot: ConfigurationSnapshot, _ transport: any HTTPTransport, patience: Duration, _ report: DoctorReport
  ) {
    let services = Services(
      transport: transport, clock: clock, observer: observer, userAgent: "postern/\(Product.version)")
    self.patience = patience
    self.report = report
    self.services = services
    discovery = ProviderDiscovery(services)
    tokens = ClientCredentialsTokens(services, discovery: discovery)
    let keySets = KeySetStore(services, discovery: discovery)
    self.keySets = keySets
    targets = snapshot.issuers.keys.sorted().compactMap { name in
      snapshot.issuers[name].map { Self.target(name, $0.issuer, snapshot, keySets, report) }
    }
  }

  /// Makes the checks, all issuers at once.
  package func run() async {
    await withTaskGroup { group in
      for target in targets { group.addTask { await examine(target) } }
    }
  }

  private static func target(
    _ name: String, _ issuer: Issuer, _ snapshot: ConfigurationSnapshot, _ keySets: KeySetStore, _ report: DoctorReport
  ) -> Target {
    let settings = snapshot.configuration.issuers[name]
    func begin(_ what: String, _ tried: String) -> Int { report.begin("issuers.\(name): \(what)", tried: tried) }
    let discovery = begin("discovery", "read the metadata of \(issuer.identifier)")
    let keys = begin("keys", "fetch the key set")
    var grants: [Grant] = []
    let servers = snapshot.allServers.filter { server in
      server.authentication == .clientCredentials && server.issuer?.name == name
    }
    for server in servers.sorted(by: { $0.name < $1.name }).prefix(maxGrants) {
      guard let own = server.issuer else { continue }
      let grant = ClientCredentialsGrant(issuer: own, scope: server.scope, audience: server.audience)
      let check = begin(
        "token for resources.\(server.name)",
        "request one by client credentials, as \(issuer.clientID) by \(issuer.clientAuthentication.method)")
      grants.append(Grant(check: check, resource: server.name, grant: grant))
    }
    if grants.isEmpty {
      let why = "not tried: no resource has auth: clientCredentials, and other grants need a user"
      report.add("issuers.\(name): token", tried: "request one", .skipped(why))
    }
    let method = issuer.clientAuthentication.method
    let authentication =
      grants.isEmpty && !issuer.clientID.isEmpty && method != "none"
      ? begin("client authentication", "introspect an invented token, as \(issuer.clientID) by \(method)") : nil
    let checks = Checks(
      discovery: discovery, keys: keys, authentication: authentication,
      redirect: begin("redirect URI", "begin an authorization as no user"),
      clock: begin("clock", "compare its Date with this machine's"))
    return Target(
      name: name, issuer: issuer, keys: keySets.source(for: issuer), redirectURI: settings?.redirectURI,
      scope: settings?.scope ?? "openid", provider: settings?.provider, grants: grants, checks: checks)
  }

  private func examine(_ target: Target) async {
    let endpoints = target.issuer.endpoints
    let found = await discover(target)
    report.end(target.checks.discovery, found)
    let isKnown = found.status != .failed
    await suggestPreset(target, isKnown: isKnown)
    func skip(_ check: Int) { report.end(check, .skipped("not tried: there is no metadata")) }
    await withTaskGroup { group in
      if isKnown || endpoints[.jwks] != nil {
        group.addTask { report.end(target.checks.keys, await fetchKeys(target)) }
      } else {
        skip(target.checks.keys)
      }
      for grant in target.grants {
        if isKnown || endpoints[.token] != nil {
          group.addTask { report.end(grant.check, await requestToken(grant, target)) }
        } else {
          skip(grant.check)
        }
      }
      if let authentication = target.checks.authentication {
        if isKnown || endpoints[.introspection] != nil {
          group.addTask { report.end(authentication, await tryAuthentication(target)) }
        } else {
          skip(authentication)
        }
      }
      if isKnown || endpoints[.authorization] != nil {
        group.addTask { report.end(target.checks.redirect, await tryRedirect(target)) }
      } else {
        skip(target.checks.redirect)
      }
    }
    report.end(target.checks.clock, clockFinding(of: target.name))
  }

  private var scope: CallScope { CallScope.process.until(Deadline(in: patience, on: clock)) }

  // MARK: - Discovery

  private func discover(_ target: Target) async -> DoctorFinding {
    let name = target.name
    do throws(TokenError) {
      let metadata = try await discovery.metadata(for: target.issuer, in: scope)
      let method = target.issuer.clientAuthentication.method
      // Issuers list no method for what a platform signs.
      let isListed = !target.issuer.clientAuthentication.isReadForEachRequest
      if isListed, !target.issuer.clientID.isEmpty, let known = metadata.tokenEndpointAuthMethodsSupported,
        !known.isEmpty,
        !known.contains(method)
      {
        return .warning(
          "the metadata does not list the client authentication \(method)",
          cure: "issuers.\(name).clientAuth: one of "
            + known.filter { $0.utf8.count <= 40 }.prefix(8).joined(separator: ", "))
      }
      if let algorithm = target.issuer.clientAuthentication.requiredAlgorithm,
        let listed = metadata.tokenEndpointAuthSigningAlgorithmsSupported, !listed.contains(algorithm)
      {
        return .failed(
          "the metadata does not list \(algorithm) for the client's assertions, and nothing is requested with it",
          cure: "issuers.\(name).clientAuth: client_secret_basic, or private_key_jwt with a registered key")
      }
      return .ok("it lists \(metadata.endpoints.count) endpoints")
    } catch {
      if target.issuer.endpoints[.token] != nil, target.issuer.endpoints[.jwks] != nil, case .discovery = error.kind {
        return .skipped("\(Self.explained(error)); its endpoints are configured, and no metadata is needed")
      }
      return .failed(Self.explained(error), cure: Self.cure(error, issuer: name))
    }
  }

  // MARK: - Presets

  /// Names the preset that an issuer evidently needs, and the configuration has not.
  private func suggestPreset(_ target: Target, isKnown: Bool) async {
    guard target.provider == nil else { return }
    let metadata = isKnown ? try? await discovery.metadata(for: target.issuer, in: scope) : nil
    let endpoint = target.issuer.endpoints[.token] ?? metadata?.endpoints[.token]
    guard let preset = Provider.suggested(issuer: target.issuer.identifier, tokenEndpoint: endpoint.map { "\($0)" })
    else { return }
    report.add(
      "issuers.\(target.name): provider", tried: "compare its URLs with those of known providers",
      .warning(
        "it is one of \(preset.rawValue), by its URLs, and has no preset",
        cure: "issuers.\(target.name).provider: \(preset.rawValue), which sets what this provider is known to need"))
  }

  // MARK: - Keys

  private func fetchKeys(_ target: Target) async -> DoctorFinding {
    do throws(KeySetError) {
      _ = try await target.keys.keySet(in: scope)
      let count = keySets.ages().first { $0.issuer == target.name }?.keyCount ?? 0
      return .ok("\(count) key(s)")
    } catch {
      // An authorization server that only issues tokens has no keys to publish.
      if error.kind == .discoveryFailed, !error.isRetryable, target.issuer.endpoints[.token] != nil {
        return .skipped("it publishes no keys: its tokens cannot be validated here")
      }
      return .failed(
        "\(error)",
        cure: "the metadata's jwks_uri, or issuers.\(target.name).endpoints.jwks, must lead to a JWK Set"
      )
    }
  }

  // MARK: - Tokens

  private func requestToken(_ grant: Grant, _ target: Target) async -> DoctorFinding {
    do throws(TokenError) {
      _ = try await tokens.token(for: grant.grant, in: scope)
      return .ok("the issuer returned a token, which is not kept")
    } catch {
      return .failed(Self.explained(error), cure: Self.cure(error, issuer: target.name, resource: grant.resource))
    }
  }

  /// Introspects a token that no issuer has issued: it is active for no client, and the answer shows whether the client
  /// was authenticated (RFC 7662 section 2.1).
  private func tryAuthentication(_ target: Target) async -> DoctorFinding {
    let provider = ProviderClient(services, discovery: discovery)
    do throws(TokenError) {
      let response = try await provider.post(
        [(name: "token", value: PKCE.random().verifier)], to: .introspection, of: target.issuer, maxBytes: 256 << 10,
        for: .introspection(target.name), timeout: patience, in: .process
      ).response
      guard response.status != 200 else {
        let answer = try? JSONParser(maxBytes: 256 << 10, maxDepth: 16).parse(response.body)
        return answer?["active"]?.boolValue == nil
          ? .skipped("not decided: the answer is not that of an introspection endpoint") : .ok("the issuer accepts it")
      }
      let error = OAuthAnswer(response).failure(of: "introspection endpoint")
      guard response.status == 401 || error.oauthError?.code == "invalid_client" else {
        return .skipped("not decided: \(error.detail), as for a client that may not introspect")
      }
      return .failed(Self.explained(error), cure: Self.clientCure("issuers.\(target.name)"))
    } catch {
      if case .notPossible = error.kind { return .skipped("not tried: the issuer has no introspection endpoint") }
      return .failed(Self.explained(error), cure: Self.cure(error, issuer: target.name))
    }
  }

  // MARK: - The redirect URI

  private func tryRedirect(_ target: Target) async -> DoctorFinding {
    guard let redirectURI = target.redirectURI else {
      return .skipped("not tried: there is no issuers.\(target.name).redirectUri")
    }
    guard !target.issuer.clientID.isEmpty else { return .skipped("not tried: there is no clientId") }
    var request = AuthorizationRequest(redirectURI: redirectURI)
    request.prompt = "none"
    let form = request.form(
      clientID: target.issuer.clientID, scope: target.scope, state: PKCE.random().verifier,
      nonce: PKCE.random().verifier, challenge: PKCE.random().challenge)
    let cure =
      "register exactly \(redirectURI) for the client \(target.issuer.clientID) at the issuer, "
      + "or correct issuers.\(target.name).redirectUri"
    do {
      let provider = ProviderClient(services, discovery: discovery)
      let url = try HTTPURL(try await provider.authorizationURL(form, at: target.issuer, key: nil, in: .process))
      let options = target.issuer.transferOptions(
        deadline: scope.deadline, maxBodyBytes: 1 << 20, for: .process)
      let response = try await services.send(
        HTTPRequest(method: "GET", url: url, fields: ["Accept": "text/html"]), options: options,
        for: .discovery(target.name), in: .process)
      return Self.redirectFinding(response, from: url, redirectURI, cure)
    } catch let error as TokenError {
      return .failed(
        Self.explained(error), cure: Self.isAboutRedirect(error) ? cure : Self.cure(error, issuer: target.name))
    } catch let error as TransportError {
      return .failed(
        "the authorization endpoint cannot be reached: \(error.detail)",
        cure: "browsers of users need it: correct issuers.\(target.name).endpoints.authorization, or the network")
    } catch {
      return .failed(
        "the authorization endpoint is no usable URL", cure: "correct issuers.\(target.name).endpoints.authorization")
    }
  }

  /// Whether the rejection of a pushed authorization request may be that of its redirect URI.
  private static func isAboutRedirect(_ error: TokenError) -> Bool {
    ["invalid_request", "invalid_redirect_uri"].contains(error.oauthError?.code)
  }

  /// An issuer that knows the redirect URI sends the browser there with an error (OpenID Connect Core section 3.1.2.6),
  /// and shows a page of its own otherwise (RFC 6749 section 4.1.2.1).
  private static func redirectFinding(
    _ response: HTTPResponse, from url: HTTPURL, _ redirectURI: String, _ cure: String
  ) -> DoctorFinding {
    guard (300..<400).contains(response.status), let location = response.fields["Location"] else {
      guard response.status >= 400 else {
        return .warning(
          "the issuer shows a page (\(response.status)), which may be a login or an error",
          cure: "try it with `postern login`")
      }
      return .failed("the issuer answered \(response.status), and does not redirect back", cure: cure)
    }
    guard let callback = AuthorizationCallback(location), RedirectURI(redirectURI).isTarget(of: callback) else {
      return .ok("the issuer redirects to a page of its own, as for a login")
    }
    let error = callback["error"] ?? ""
    switch error {
    case "", "login_required", "interaction_required", "account_selection_required", "consent_required":
      return .ok("the issuer redirects back to it")
    case "invalid_scope":
      return .failed("it redirects back with invalid_scope", cure: "permit the scope at the issuer, or correct `scope`")
    default:
      let code = error.utf8.count <= 64 ? error : "an error"
      return .warning("it redirects back with \(code)", cure: "see the client's settings at the issuer")
    }
  }

  // MARK: - Clocks

  private func clockFinding(of name: String) -> DoctorFinding {
    guard let skew = observer.skews.withLock({ $0[name] }) else {
      return .skipped("there was no answer with a Date")
    }
    let seconds = abs(Int64(skew.inSeconds))
    let direction = skew < .zero ? "behind" : "ahead of"
    let found = seconds == 0 ? "they agree" : "it is \(seconds) s \(direction) this machine's"
    guard skew > HealthMonitor.toleratedSkew || skew < .zero - HealthMonitor.toleratedSkew else { return .ok(found) }
    return .failed(
      found, cure: "synchronise this machine's clock (chrony, systemd-timesyncd), or have the issuer's corrected")
  }

  // MARK: - Causes and cures

  /// The error with the transport's own words.
  private static func explained(_ error: TokenError) -> String {
    var transport: TransportError?
    switch error.kind {
    case .unreachable(let failure): transport = failure
    case .discovery(let failure): transport = failure.transport
    default: break
    }
    var text = error.detail
    if let detail = transport?.detail, !detail.isEmpty, !text.containsBytes(of: detail) { text += " (\(detail))" }
    if let description = error.oauthError?.description { text += ": \(description)" }
    if let status = error.status, !text.containsBytes(of: "\(status)") { text += ", status \(status)" }
    return text
  }

  private static func cure(_ error: TokenError, issuer: String, resource: String? = nil) -> String {
    let path = "issuers.\(issuer)"
    switch error.kind {
    case .discovery(let failure) where failure.kind == .issuerMismatch:
      return "\(path).issuer must be exactly the `issuer` of the metadata, slash by slash"
    case .discovery(let failure):
      guard let transport = failure.transport else {
        return "\(path).issuer is the issuer identifier, without /.well-known/…; or configure \(path).endpoints"
      }
      return cure(transport, path)
    case .unreachable(let transport): return cure(transport, path)
    case .rejected(let answer):
      switch answer?.code {
      case "invalid_client":
        return clientCure(path)
      case "unauthorized_client", "unsupported_grant_type":
        return "permit the client this grant (client_credentials) at the issuer"
      case "invalid_scope", "invalid_target":
        return "resources.\(resource ?? "NAME"): scope and audience must be permitted to the client at the issuer"
      default: return "see the client's settings and the log at the issuer"
      }
    case .unavailable: return "try again later, and see the issuer's own state"
    case .malformed: return "\(path).endpoints.token must lead to a token endpoint (RFC 6749)"
    case .notPossible: return "correct \(path): endpoints, clientAuth"
    case .assertion:
      return "\(path).clientAssertion.file: see the program that writes it, its permissions, and this machine's clock"
    case .cancelled, .deadlineExceeded: return "see whether the issuer answers at all; --timeout gives it more time"
    }
  }

  private static func clientCure(_ path: String) -> String {
    "\(path): clientId, the secret or key, and clientAuth must be those that the issuer has registered"
  }

  private static func cure(_ failure: TransportError, _ path: String) -> String {
    switch failure.code {
    case _ where failure.proxy != nil: "see the check outbound.proxy"
    case .tlsFailure: "\(path).tls.caFile names the authorities to trust; an https URL needs a server with TLS"
    case .pinMismatch: "\(path).tls.pins must contain a key of the server's certificates"
    case .addressNotAllowed: "link-local addresses are not contacted, unless the configuration contains one"
    case .timedOut: "see whether the server answers at all; --timeout gives it more time"
    case .responseTooLarge, .protocolError: "the URL must be the issuer's: what answers there is something else"
    default: "see the URL, DNS and firewalls; proxies of the environment are not used, outbound.proxy is"
    }
  }
}
