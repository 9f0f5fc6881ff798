public import HTTPMessages
import OAuthClient
public import PosternSupport
import Sessions

/// The way to a decision point for one lookup: pace, bounds, the token that goes along and its one renewal.
public struct DecisionClient: Sendable {
  let upstream: Upstream
  let deviceTokens: ClientCredentialsTokens
  /// Registered clients of decision points that have registration.
  let clients: AdobePassClients
  let prover: DPoPProver
  let point: DecisionPoint
  let subject: DecisionSubject
  /// When the whole lookup must be over.
  public internal(set) var deadline: Deadline
  let trace: TraceContext?
  /// Whether nobody waits for it: then it takes no turn from those who wait.
  var isRenewal = false

  /// The clock of the engine.
  public var clock: any EngineClock { upstream.clock }

  /// The same for what is asked for once for everybody (`DecisionPurpose.shared`): with `patience` of its own, whoever
  /// was first to need it.
  func forEverybody(patience: Duration) -> DecisionClient {
    var link = self
    link.isRenewal = false
    link.deadline = Deadline(in: patience, on: clock)
    return link
  }

  /// Sends `request` with the decision point's credential; a refused one is renewed once. Any status but 401 is an
  /// answer.
  public func send(_ request: HTTPRequest) async throws(DecisionFault) -> HTTPResponse {
    switch point.settings.credential {
    case .none:
      return try Self.accepted(try await exchange(request, for: .question))
    case .token(let token):
      var request = request
      request.fields["Authorization"] = "Bearer \(token.reveal())"
      return try Self.accepted(try await exchange(request, for: .question))
    case .device, .user:
      let use = try? await subject.session?.tokenUse()
      defer { use?.end() }
      let token = try await token(replacing: nil)
      let response = try await exchange(request, with: token)
      guard response.status == 401 else { return response }
      let newer = try await self.token(replacing: token)
      return try Self.accepted(try await exchange(request, with: newer))
    }
  }

  /// A 401 is about the sidecar, never about the user.
  private static func accepted(_ response: HTTPResponse) throws(DecisionFault) -> HTTPResponse {
    guard response.status != 401 else {
      throw DecisionFault(.accessTokenUnavailable("the decision point refuses the sidecar's credentials"))
    }
    return response
  }

  private func exchange(_ request: HTTPRequest, with token: AccessToken) async throws(DecisionFault) -> HTTPResponse {
    var request = request
    guard let key = token.binding.key else {
      request.fields["Authorization"] = "Bearer \(token.value.reveal())"
      return try await exchange(request, for: .question)
    }
    request.fields["Authorization"] = "DPoP \(token.value.reveal())"
    let (first, terms) = try await exchange(request, token, key, by: nil)
    guard let terms else { return first }
    return try await exchange(request, token, key, by: terms).response
  }

  /// The answer, and what the proof of a repetition is to be made by where it rejects this one.
  private func exchange(
    _ request: HTTPRequest, _ token: AccessToken, _ key: DPoPKey, by terms: DPoPTerms?
  ) async throws(DecisionFault) -> (response: HTTPResponse, terms: DPoPTerms?) {
    var request = request
    let proof: DPoPProof
    do throws(TokenError) {
      proof = try prover.prove(&request, with: key, token: token.value, by: terms)
    } catch {
      throw DecisionFault(.accessTokenUnavailable(error.detail))
    }
    let response = try await exchange(request, for: .question)
    return (response, prover.learn(from: response, to: proof, DPoPRejection(ofResource: response)))
  }

  /// Sends `request` as it is, at the decision point's pace, which a 429 slows down. `timeout` replaces the configured
  /// one.
  public func exchange(
    _ request: HTTPRequest, for purpose: DecisionPurpose, timeout: Duration? = nil
  ) async throws(DecisionFault) -> HTTPResponse {
    guard request.url.isSecure(allowingPlainHTTPOnLoopback: point.settings.allowsPlainHTTPOnLoopback) else {
      throw DecisionFault(.networkError("the decision point's scheme is not https"))
    }
    let device = request.fields["X-Forwarded-For"] ?? ""
    let requester = purpose == .shared ? Requester.process : Requester(uid: subject.owner, connection: 0)
    // What is everybody's is waited for by others, too.
    try await keepPace(requester, device, mayWait: purpose == .shared || !isRenewal)
    var request = request
    trace?.add(to: &request.fields)
    let options = TransferOptions(
      deadline: Deadline(in: timeout ?? point.settings.timeout, on: clock).earlier(deadline),
      maxBodyBytes: DecisionReply.maxBytes, allowsPlainHTTP: point.settings.allowsPlainHTTPOnLoopback,
      requester: requester, reusesConnections: purpose == .question)
    do throws(TransportError) {
      let response = try await upstream.send(request, options: options, for: .decision(point.name), trace: trace)
      if response.status == 429 {
        let pause = DecisionFault.pause(after: response)
        point.settings.pace?.hold(requester.uid, for: pause, at: clock.monotonicNow, device: device)
      }
      return response
    } catch {
      throw DecisionFault(error)
    }
  }

  private func keepPace(
    _ requester: Requester, _ device: String, mayWait: Bool
  ) async throws(DecisionFault) {
    guard !Task.isCancelled else { throw Self.cancelled }
    guard let pace = point.settings.pace else { return }
    let turn = pace.come(for: requester.uid, device: device)
    while true {
      let now = clock.monotonicNow
      let wait = pace.wait(turn, at: now)
      guard wait > .zero else { return }
      let patience = mayWait ? deadline.instant.map { $0 - now } : .zero
      guard patience.map({ wait <= $0 }) ?? true else {
        pace.leave(turn)
        throw DecisionFault(.networkError("the decision point's pace leaves no room before the deadline"))
      }
      do {
        try await clock.sleep(for: wait)
      } catch {
        // Whoever leaves makes nobody else wait.
        pace.leave(turn)
        throw Self.cancelled
      }
    }
  }

  private static let cancelled = DecisionFault(.networkError("cancelled"))

  private func token(replacing rejected: AccessToken?) async throws(DecisionFault) -> AccessToken {
    if case .device(let grant) = point.settings.credential {
      do throws(TokenError) {
        guard let rejected else {
          return try await deviceTokens.token(for: grant, deadline: deadline, trace: trace)
        }
        return try await deviceTokens.token(for: grant, replacing: rejected, deadline: deadline, trace: trace)
      } catch {
        throw Self.fault(error)
      }
    }
    guard let session = subject.session else { throw DecisionFault(.sessionMissing()) }
    do throws(SessionError) {
      return try await session.sessions.token(
        of: session.handle(of: .user), ownedBy: session.owner, at: session.issuer, replacing: rejected,
        deadline: deadline,
        trace: trace)
    } catch {
      switch error.kind {
      case .notFound: throw DecisionFault(.sessionMissing())
      case .expired: throw DecisionFault(.sessionExpired)
      case .deadlineExceeded, .cancelled: throw DecisionFault(.networkError(error.detail))
      case .unreachable(let failure): throw Self.fault(failure)
      default: throw DecisionFault(.accessTokenUnavailable(error.detail))
      }
    }
  }

  /// Not repeated by the lookup: the client's tokens have pauses of their own.
  private static func fault(_ error: TokenError) -> DecisionFault { DecisionFault(DecisionFault(error).status) }
}
