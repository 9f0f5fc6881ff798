package import HTTPMessages
package import OAuthClient
public import PosternSupport
import SessionRecords
package import Sessions

/// Fetches protected resources: checks the call, adds the token, follows redirects, refreshes a rejected token once.
///
/// It caches nothing but servers' nonces for proofs, and cookies; `ClientCredentialsTokens` and `ExchangedTokens` cache
/// tokens. Resource servers and issuers come with every call, so a call ends on the configuration that it started with.
public final class ResourceFetcher: Sendable {
  let services: Services
  private let deviceTokens: ClientCredentialsTokens
  private let exchangedTokens: ExchangedTokens
  let prover: DPoPProver
  let limiter: OriginLimiter
  private let scopeReports: ScopeReports
  let flights: AdviceFlights
  /// The cookies of resources that keep them.
  public let cookies = CookieJars()
  /// For tests: whether a fetch waits once behind each of its steps, as if that had to wait for something.
  private let waitsAtEachStep: Bool

  /// Takes client credentials tokens from `deviceTokens`. Tokens on behalf of users are those of `exchangedTokens`;
  /// nil: the fetcher's own.
  package init(
    _ services: Services, deviceTokens: ClientCredentialsTokens, exchangedTokens: ExchangedTokens? = nil,
    waitsAtEachStep: Bool = false
  ) {
    self.waitsAtEachStep = waitsAtEachStep
    self.services = services
    self.deviceTokens = deviceTokens
    self.exchangedTokens = exchangedTokens ?? ExchangedTokens(sharing: deviceTokens)
    prover = deviceTokens.resourceProver
    limiter = OriginLimiter(clock: services.clock, observer: services.observer)
    scopeReports = ScopeReports(observer: services.observer)
    flights = AdviceFlights(clock: services.clock)
  }

  /// The clock for tasks of fetches.
  package var clock: any EngineClock { services.clock }

  /// The state of the origins of resources with limits, as far as it is known.
  public var originStates: [OriginState] { limiter.states }

  /// Fetches `request` from `server`. Any HTTP status is a result; only what kept the request from being carried out is
  /// an error.
  public func fetch(
    _ request: ResourceRequest, from server: ResourceServer, options: FetchOptions = FetchOptions()
  ) async throws(ResourceError) -> ResourceResponse {
    let call = call(request, from: server, options: options)
    if let outcome = call.outcomeWithoutRunning() { return try outcome.get() }
    return try await call.run().get()
  }

  /// The same fetch, to be started without a task that waits for it. Behind a wait it continues on `poster`; nil: on the
  /// executor of `options.scope`, or without one where the wait ends.
  package func call(
    _ request: ResourceRequest, from server: ResourceServer, options: FetchOptions = FetchOptions(),
    on poster: (any WorkPoster)? = nil
  ) -> FetchCall {
    var options = options
    if options.task == nil, options.deliver != nil || options.supply != nil || options.hasDelegate {
      options.task = NetworkTask(request: request, clock: clock)
    }
    return FetchCall(self, request, server.applying(options), options, poster, waits: waitsAtEachStep)
  }

  /// The request of a fetch. Before a token is obtained: a missing setting is not to cost a login.
  func prepare(
    _ request: ResourceRequest, _ server: ResourceServer, _ options: FetchOptions
  ) throws(ResourceError) -> PreparedRequest {
    guard !server.pinsRequired || server.access.tls.pins != nil else {
      throw ResourceError(.pinMismatch, "the resource requires pins and has none", retryable: false)
    }
    if options.deliver != nil, server.payloadEncryption?.decryptsAnswers == true {
      throw ResourceError(
        .payloadEncryptionFailed,
        "an encrypted response is authenticated at its end only: it cannot be delivered in pieces", retryable: false)
    }
    let prepared = try PreparedRequest(request, to: server, options)
    try Self.checkPolicy(of: options, for: server, at: prepared.message.url)
    return prepared
  }

  /// The advice of a fetch, where the resource server has rules for it or the program has a policy. Without a user's
  /// session nothing but a delegate can satisfy it.
  func adviceRounds(
    _ options: FetchOptions, _ server: ResourceServer, _ session: SessionHandle?
  ) -> AdviceRounds? {
    guard let fetch = options.advice,
      let rules = server.advice ?? (fetch.policy == nil && fetch.delegate == nil ? nil : .ofProgram)
    else { return nil }
    let policy = fetch.policy ?? AuthorizationPolicy(of: server, rules, delegate: fetch.delegate)
    let session = server.authentication == .user ? session : nil
    guard session != nil || policy.hasDelegate && fetch.delegateID != nil else { return nil }
    return AdviceRounds(
      rules: rules, policy: policy.within(server), fetch: fetch, session: session, flights: flights,
      level: options.narrowing, headers: server.prepared.headers, secondURLs: SecondURLs(server, options),
      resource: server.name,
      observer: services.observer)
  }

  /// Throws where an authorization policy cannot take effect: responses with advice would pass unnoticed.
  private static func checkPolicy(
    of options: FetchOptions, for server: ResourceServer, at url: HTTPURL
  ) throws(ResourceError) {
    guard options.advice?.policy?.covers(url) == true, let obstacle = server.adviceObstacle else { return }
    throw ResourceError(.invalidParams, "the authorization policy has no effect: \(obstacle)", retryable: false)
  }

  /// Whether the request is sent without a token because it has no session, and the policy permits that; nil: only the
  /// store knows whether one exists. An expired session exists, and so do several.
  private func lacksSession(_ options: FetchOptions, _ server: ResourceServer) -> Bool? {
    let rules = [server.whenNoSession, options.tokenPolicy?.whenNoSession]
    guard rules.contains(.sendWithoutToken) else { return false }
    guard let session = options.session else { return true }
    return session.handle == nil ? nil : false
  }

  /// The same, of the store where need be.
  private func hasNoSession(
    _ options: FetchOptions, _ kind: SessionKind, _ server: ResourceServer
  ) async throws(ResourceError) -> Bool {
    if let known = lacksSession(options, server) { return known }
    guard let session = options.session else { return true }
    let issuer = session.issuer.issuer.name
    do throws(SessionError) {
      var (exists, readable) = (false, 0)
      // Not from the cache: another process may have logged the user in.
      try await session.sessions.forEachSession(in: options.scope.of(session.uid)) { found, _ in
        readable += 1
        exists = exists || found.kind == kind && found.issuer == issuer
        return !exists
      }
      // One that cannot be read may be the user's at this issuer.
      let stored =
        exists
        ? nil
        : try? await session.sessions.store.usage(
          of: session.uid, by: options.scope.uid
        ).count(in: .session)
      guard exists || stored == readable else {
        throw SessionError(StoreError(.corrupted, "a session of the store cannot be read"))
      }
      return !exists
    } catch {
      throw ResourceError(error, kind: kind, issuer: issuer)
    }
  }

  /// The source of a fetch's tokens.
  enum Source {
    /// Nil: the fetch has none.
    case known(TokenSource?)
    /// The session has to be looked up in the store.
    case inStore
  }

  /// The source of the fetch's tokens; nil for a fetch without one. The session that is meant is found here, once.
  func tokenSource(_ options: FetchOptions, _ server: ResourceServer) async throws(ResourceError) -> TokenSource? {
    if case .known(let source) = try knownTokenSource(options, server) { return source }
    let kind = server.authentication == .implicit ? SessionKind.implicit : .user
    if try await hasNoSession(options, kind, server) { return nil }
    guard let session = options.session else { throw .sessionMissing }
    return try await TokenSource.tokens(of: session, kind, reports: scopeReports, in: options.scope)
  }

  /// The same as far as it is in memory.
  func knownTokenSource(_ options: FetchOptions, _ server: ResourceServer) throws(ResourceError) -> Source {
    switch server.authentication {
    case .user: try sessionTokens(.user, options, server)
    case .implicit: try sessionTokens(.implicit, options, server)
    case .none, .credential, .clientCredentials, .onBehalfOf: .known(try sharedTokens(options, server))
    }
  }

  private func sessionTokens(
    _ kind: SessionKind, _ options: FetchOptions, _ server: ResourceServer
  ) throws(ResourceError) -> Source {
    switch lacksSession(options, server) {
    case true?: return .known(nil)
    case nil: return .inStore
    case false?: break
    }
    guard let session = options.session else { throw .sessionMissing }
    let source = try TokenSource.tokensInMemory(of: session, kind, reports: scopeReports, in: options.scope)
    return source.map { .known($0) } ?? .inStore
  }

  /// The source of tokens that belong to no session.
  private func sharedTokens(_ options: FetchOptions, _ server: ResourceServer) throws(ResourceError) -> TokenSource? {
    switch server.authentication {
    case .none, .user, .implicit: return nil
    case .credential:
      guard server.credential != nil else {
        throw ResourceError(
          .deviceNotAuthenticated, "the resource is configured without a credential", retryable: false)
      }
      return nil
    case .clientCredentials:
      guard let grant = server.clientCredentials else {
        throw ResourceError(
          .deviceNotAuthenticated, "the resource is configured without an issuer", retryable: false)
      }
      return .client(deviceTokens, grant)
    case .onBehalfOf:
      guard let grant = server.exchangeGrant else {
        throw ResourceError(
          .notAuthenticated, "the resource is configured without an exchange of inbound tokens", retryable: false)
      }
      guard let inbound = options.onBehalfOf else {
        throw ResourceError(
          .invalidParams, "the resource's tokens are on behalf of a user: an inbound token is needed",
          path: ["onBehalfOf"], retryable: false)
      }
      return .exchanged(exchangedTokens, grant, inbound)
    }
  }
}

// MARK: - Previews

extension ResourceFetcher {
  /// The token of a fetch as far as it is known without a request.
  package struct TokenPreview: Sendable {
    /// The session that it is of.
    package var session: SessionHandle?
    /// The current token, fresh or not; nil: it has to be requested.
    package var token: AccessToken?
    /// Whether another one can be requested.
    package var canBeRequested = true

    package init() {}
  }

  /// The request that a fetch would send, as it is shown to people.
  package struct RequestPreview: Sendable {
    /// A body: its bytes, as far as they are known before it is sent, and its media type.
    package struct Body: Sendable {
      /// Nil: not known.
      package let bytes: Int64?
      /// Nil: none is stated.
      package let contentType: String?
    }

    /// The method by whose rules the request is retried.
    package let method: HTTPMethod
    /// The method's name, as it is sent.
    package let name: String
    /// The URL; the credential in its query is masked.
    package let url: HTTPURL
    /// Path and query below the base URL; the whole URL where it lies elsewhere.
    package let path: String
    /// The resources that fields of the request name.
    package let secondURLs: [SecondURL]
    /// The body before it is encrypted; nil: none.
    package let body: Body?
  }

  /// The request that a fetch would send; throws what the fetch would. Nothing is sent.
  package func preview(
    _ request: ResourceRequest, from server: ResourceServer, options: FetchOptions
  ) throws(ResourceError) -> RequestPreview {
    let prepared = try prepare(request, server, options)
    let message = prepared.message
    let url = server.shown(message.url)
    let base = server.baseURL
    let below = url.pathAndQuery.utf8.dropFirst(base.path.utf8.count)
    let contentType = message.fields["Content-Type"]
    let body =
      if let bytes = message.body {
        RequestPreview.Body(bytes: Int64(bytes.count), contentType: contentType)
      } else {
        message.streamedBody.map { RequestPreview.Body(bytes: $0.length, contentType: contentType) }
      }
    return RequestPreview(
      method: prepared.method, name: message.method, url: url,
      path: url.lies(under: base)
        ? String(Substring(below.first == UInt8(ascii: "/") ? below.dropFirst() : below)) : "\(url)",
      secondURLs: prepared.secondURLs, body: body)
  }

  /// Whether the limits of the URL's origin would admit a request at once; throws what a fetch would end with.
  package func isAdmitted(
    _ url: HTTPURL, method: HTTPMethod, from server: ResourceServer, for peer: PeerID
  ) throws(ResourceError) -> Bool {
    guard let limits = server.limits else { return true }
    switch limiter.preview(.init(resource: server.name, origin: url.origin), limits, for: peer) {
    case .success(let isAdmitted): return isAdmitted
    case .failure(let rejection):
      throw ResourceError(rejection, resource: server.name, method: method, mayHaveHadEffect: false)
    }
  }

  /// The token that a fetch would begin with; nil for a fetch without one. Throws what the fetch would, where that is
  /// known without a request.
  package func tokenPreview(
    from server: ResourceServer, options: FetchOptions
  ) async throws(ResourceError) -> TokenPreview? {
    switch try await tokenSource(options, server) {
    case .session(let session, let kind, _):
      do throws(SessionError) {
        var preview = TokenPreview()
        preview.session = session.handle
        (preview.token, preview.canBeRequested) = try await session.current(
          TokenNeed(of: server), kind, in: options.scope)
        return preview
      } catch {
        throw ResourceError(error, kind: kind, issuer: session.issuer.issuer.name)
      }
    case .client(let tokens, let grant):
      do throws(TokenError) {
        var preview = TokenPreview()
        preview.token = try tokens.current(for: grant)
        return preview
      } catch {
        throw ResourceError(error, issuer: grant.issuer.name)
      }
    case .exchanged: return TokenPreview()
    case nil: return nil
    }
  }
}

extension ResourceFetcher: ConciseStringConvertible {}
