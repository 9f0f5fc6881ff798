public import HTTPMessages
public import OAuthClient
public import PosternSupport
import Sessions

/// Fetches protected resources: checks the call, gets the token, follows redirects, renews a refused token once.
///
/// Holds no state of its own but servers' nonces for proofs and cookies; the tokens are `ClientCredentialsTokens`'.
/// Resource servers and issuers come with every call, so a call ends on the configuration it began with.
public final class ResourceFetcher: Sendable {
  private let upstream: Upstream
  private let deviceTokens: ClientCredentialsTokens
  private let prover: DPoPProver
  private let gate: OriginGate
  let flights: AdviceFlights
  /// The cookies of resources that keep them.
  public let cookies = CookieJars()

  /// A fetcher over `transport` that says `userAgent` of itself and takes the device's tokens from `deviceTokens`.
  public init(
    transport: any HTTPTransport, clock: any EngineClock, observer: any EngineObserver, userAgent: String,
    deviceTokens: ClientCredentialsTokens
  ) {
    upstream = Upstream(transport: transport, clock: clock, observer: observer, userAgent: userAgent)
    self.deviceTokens = deviceTokens
    prover = DPoPProver(clock: clock)
    gate = OriginGate(clock: clock, observer: observer)
    flights = AdviceFlights(clock: clock)
  }

  /// Fetches `request` from `server`. Any HTTP status is a result; only what kept the request from being carried out is
  /// an error.
  public func fetch(
    _ request: ResourceRequest, from server: ResourceServer, options: FetchOptions = FetchOptions()
  ) async throws(ResourceError) -> ResourceResponse {
    var options = options
    if options.deliver != nil, options.task == nil { options.task = NetworkTask(request: request, clock: clock) }
    guard let task = options.task else { return try await carryOut(request, server, options) }
    return try await task.carryOut { [options] in
      do throws(ResourceError) {
        return .success(try await self.carryOut(request, server, options))
      } catch {
        return .failure(error)
      }
    }.get()
  }

  /// What time it is for whoever makes tasks.
  var clock: any EngineClock { upstream.clock }

  /// How the origins of resources with limits stand, as far as anything is known about them.
  public var originStates: [OriginState] { gate.states }

  private func carryOut(
    _ request: ResourceRequest, _ server: ResourceServer, _ options: FetchOptions
  ) async throws(ResourceError) -> ResourceResponse {
    if options.deliver != nil, server.payloadEncryption?.decryptsAnswers == true {
      throw ResourceError(
        .payloadEncryptionFailed, "an encrypted answer proves itself at its end: it cannot be taken in pieces",
        retryable: false)
    }
    let prepared = try PreparedRequest(request, to: server, trace: options.trace)
    options.task?.began(prepared.message.url)
    try Self.checkPolicy(of: options, for: server, at: prepared.message.url)
    let timeout = min(options.timeout ?? server.timeout, ResourceServer.maxTimeout)
    let deadline = options.deadline.earlier(Deadline(in: timeout, on: upstream.clock))
    let source = try tokenSource(options, server)
    let use = await tokenUse(options, server)
    defer { use?.end() }
    var call = FetchOperation(
      upstream: upstream, gate: gate, prover: prover, server: server, tokens: source, method: prepared.method,
      deadline: deadline, cookies: CallCookies(cookies, server, options), fetch: options,
      advice: adviceRounds(options, server))
    guard let task = options.task, let deliver = options.deliver else { return try await call.run(prepared.message) }
    task.control.takeBodies(
      withHead: options.deliverHead != nil, where: server.streams(asksDelegate: options.asksDelegate))
    let delivery = BodyDelivery(task: task, deliver: deliver, deliverHead: options.deliverHead)
    async let taken = delivery.pump()
    // Where the fetch fails nobody wants what is left: leaving cancels the pump and waits for it.
    defer { task.control.finish() }
    do throws(ResourceError) {
      let response = try await call.run(prepared.message)
      task.control.finish()
      return try await delivery.finish(response, after: taken)
    } catch {
      // What came before the server broke off is told: the error stands behind it.
      task.control.finish()
      if error.outcome == .replied, ![.requestCancelled, .deadlineExceeded].contains(error.code) { _ = await taken }
      throw error
    }
  }

  /// A user's advice, where there are rules for it.
  private func adviceRounds(_ options: FetchOptions, _ server: ResourceServer) -> AdviceRounds? {
    guard (options.authentication ?? server.authentication) == .user, let rules = server.advice,
      let fetch = options.advice, let session = options.session
    else { return nil }
    let policy =
      fetch.policy?.within(server)
      ?? AuthorizationPolicy(
        validatingURL: [server.baseURL] + server.additionalOrigins, delegate: fetch.delegate,
        accessManager: rules.accessManager, allowsPlainHTTPOnLoopback: server.allowsPlainHTTPOnLoopback)
    return AdviceRounds(
      rules: rules, policy: policy, fetch: fetch, session: session, flights: flights,
      headers: HeaderRules(server), resource: server.name, observer: upstream.observer)
  }

  /// An authorization policy that cannot take effect is an error, not an answer whose advice nobody looks for.
  private static func checkPolicy(
    of options: FetchOptions, for server: ResourceServer, at url: HTTPURL
  ) throws(ResourceError) {
    guard options.advice?.policy?.covers(url) == true, let obstacle = server.adviceObstacle(options) else { return }
    throw ResourceError(.invalidRequest, "the authorization policy has no effect: \(obstacle)", retryable: false)
  }

  /// Keeps a user's tokens from being revoked behind a step-up while the call may carry them.
  private func tokenUse(_ options: FetchOptions, _ server: ResourceServer) async -> SessionUses.Use? {
    guard (options.authentication ?? server.authentication) == .user else { return nil }
    return try? await options.session?.tokenUse()
  }

  private func tokenSource(
    _ options: FetchOptions, _ server: ResourceServer
  ) throws(ResourceError) -> (any TokenSource)? {
    switch options.authentication ?? server.authentication {
    case .none: return nil
    case .user:
      guard let session = options.session else { throw ResourceError(.notAuthenticated, "no live user session") }
      return SessionTokenSource(
        session: session, kind: .user, scope: server.scope, audience: server.audience,
        needsDPoP: server.senderConstraint == .dpop)
    case .implicit:
      guard let session = options.session else {
        throw ResourceError(.notImplicitlyAuthenticated, "no live implicit session")
      }
      return SessionTokenSource(
        session: session, kind: .implicit, scope: server.scope, audience: server.audience,
        needsDPoP: server.senderConstraint == .dpop)
    case .device:
      guard let issuer = server.issuer else {
        throw ResourceError(
          .deviceNotAuthenticated, "the resource is configured without an issuer", retryable: false)
      }
      let grant = ClientCredentialsGrant(issuer: issuer, scope: server.scope, audience: server.audience)
      return DeviceTokenSource(tokens: deviceTokens, grant: grant)
    }
  }
}
