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
  private let services: Services
  private let deviceTokens: ClientCredentialsTokens
  private let exchangedTokens: ExchangedTokens
  private let prover: DPoPProver
  private let limiter: OriginLimiter
  private let scopeReports: ScopeReports
  let flights: AdviceFlights
  /// The cookies of resources that keep them.
  public let cookies = CookieJars()

  /// Takes client credentials tokens from `deviceTokens`. Tokens on behalf of users are those of `exchangedTokens`;
  /// nil: the fetcher's own.
  package init(
    _ services: Services, deviceTokens: ClientCredentialsTokens, exchangedTokens: ExchangedTokens? = nil
  ) {
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
    var options = options
    let server = server.applying(options)
    if options.deliver != nil || options.supply != nil || options.hasDelegate, options.task == nil {
      options.task = NetworkTask(request: request, clock: clock)
    }
    guard let task = options.task else { return try await carryOut(request, server, options) }
    return try await task.carryOut { [options] in
      do throws(ResourceError) {
        return .success(try await self.carryOut(request, server, options))
      } catch {
        return .failure(error)
      }
    }.get()
  }

  private func carryOut(
    _ request: ResourceRequest, _ server: ResourceServer, _ options: FetchOptions
  ) async throws(ResourceError) -> ResourceResponse {
    let prepared = try prepare(request, server, options)
    options.task?.began(server.shown(prepared.message.url))
    let timer = FetchTimer(options, server, clock: services.clock)
    let tokens = try await tokenSource(options, server)
    // A user's tokens are not revoked after a step-up while the call may carry them.
    let use = server.authentication == .user ? try? await tokens?.session?.beginUse(of: .user, in: options.scope) : nil
    defer { use?.end() }
    let exchange = ResourceExchange(
      services: services, limiter: limiter, prover: prover, server: server, method: prepared.method,
      cookies: CallCookies(cookies, server, options), fetch: options, isBoundByCaller: timer.isBoundByCaller)
    let operation = FetchOperation(
      exchange, tokens: tokens, fetch: options, timer: timer,
      advice: adviceRounds(options, server, tokens?.session?.handle)
    ) { [self, options] () async throws(ResourceError) in try await tokenSource(options, server) }
    guard let task = options.task, let deliver = options.deliver else {
      return try await operation.run(prepared.message)
    }
    task.control.takeBodies(
      piecesOf: options.pieceBytes, withHead: options.deliverHead != nil,
      where: server.streams(consultsDelegate: options.consultsDelegate))
    let delivery = BodyDelivery(
      task: task, deliver: deliver, deliverHead: options.deliverHead, largest: options.pieceBytes,
      echo: exchange.echo)
    async let taken = delivery.pump()
    // A fetch that fails has no use for the rest of the body: leaving cancels the pump and waits for it.
    defer { task.control.finish() }
    do throws(ResourceError) {
      let response = try await operation.run(prepared.message)
      task.control.finish()
      return try await delivery.finish(response, after: taken)
    } catch {
      // The pieces that came before the server broke off are delivered before the error.
      task.control.finish()
      if error.outcome == .replied, ![.requestCancelled, .deadlineExceeded].contains(error.code) { _ = await taken }
      throw error
    }
  }

  /// The request of a fetch. Before a token is obtained: a missing setting is not to cost a login.
  private func prepare(
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
  private func adviceRounds(
    _ options: FetchOptions, _ server: ResourceServer, _ session: SessionHandle?
  ) -> AdviceRounds? {
    guard let fetch = options.advice, let rules = server.advice ?? fetch.policy.map({ _ in .ofProgram }) else {
      return nil
    }
    var own = AuthorizationPolicy(validatingURL: server.locations, delegate: fetch.delegate)
    own.plainHTTP = server.access.plainHTTP
    let policy = fetch.policy ?? own
    let session = server.authentication == .user ? session : nil
    guard session != nil || policy.hasDelegate && fetch.delegateID != nil else { return nil }
    return AdviceRounds(
      rules: rules, policy: policy.within(server), fetch: fetch, session: session, flights: flights,
      level: options.narrowing, headers: HeaderRules(server), secondURLs: SecondURLs(server, options),
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

  /// Whether the request is sent without a token because no session exists, and the policy permits that. An expired
  /// session exists, and so do several.
  private func hasNoSession(
    _ options: FetchOptions, _ kind: SessionKind, _ server: ResourceServer
  ) async throws(ResourceError) -> Bool {
    let rules = [server.whenNoSession, options.tokenPolicy?.whenNoSession]
    guard rules.contains(.sendWithoutToken) else { return false }
    guard let session = options.session else { return true }
    guard session.handle == nil else { return false }
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

  /// The source of the fetch's tokens; nil for a fetch without one. The session that is meant is found here, once.
  private func tokenSource(_ options: FetchOptions, _ server: ResourceServer) async throws(ResourceError)
    -> TokenSource?
  {
    switch server.authentication {
    case .none: return nil
    case .credential:
      guard server.credential != nil else {
        throw ResourceError(
          .deviceNotAuthenticated, "the resource is configured without a credential", retryable: false)
      }
      return nil
    case .user:
      if try await hasNoSession(options, .user, server) { return nil }
      guard let session = options.session else { throw .sessionMissing }
      return try await TokenSource.tokens(of: session, .user, reports: scopeReports, in: options.scope)
    case .implicit:
      if try await hasNoSession(options, .implicit, server) { return nil }
      guard let session = options.session else { throw .sessionMissing }
      return try await TokenSource.tokens(of: session, .implicit, reports: scopeReports, in: options.scope)
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
