public import HTTPMessages
package import OAuthClient
public import PosternSupport
package import SessionRecords
import Sessions

/// The HTTP client of one lookup at a decision point: rate limit, bounds, and the credential, which is refreshed once.
public struct DecisionClient: Sendable {
  package let services: Services
  let deviceTokens: ClientCredentialsTokens
  /// The store of what providers must keep.
  package let records: any RecordStore
  let prover: DPoPProver
  package let point: DecisionPoint
  package let subject: DecisionSubject
  /// The scope of the whole lookup.
  package var scope: CallScope
  /// Whether it is a refresh that no call waits for: it takes no slot of the rate limit from calls that do.
  var isRefresh = false

  /// The deadline of the whole lookup.
  public var deadline: Deadline { scope.deadline }

  /// The clock of the engine.
  public var clock: any EngineClock { services.clock }

  /// The same client for a request whose result is shared (`DecisionPurpose.shared`): with a deadline of its own,
  /// whichever call needed the result first. `run` is the scope of the run.
  package func forSharedRequest(timeout: Duration, in run: CallScope) -> DecisionClient {
    var link = self
    link.isRefresh = false
    link.scope = run.unbounded.until(Deadline(in: timeout, on: clock))
    return link
  }

  /// Sends `request` with the decision point's credential; a rejected one is refreshed once. Any status but 401 is an
  /// answer.
  public func send(_ request: HTTPRequest) async throws(DecisionFault) -> HTTPResponse {
    switch point.settings.credential {
    case .none:
      return try Self.accepted(try await exchange(request, for: .question))
    case .token(let token):
      var request = request
      request.fields["Authorization"] = "Bearer \(token.reveal())"
      return try Self.accepted(try await exchange(request, for: .question))
    case .clientCredentials, .user:
      let use = try? await subject.session?.beginUse(of: .user, in: scope)
      defer { use?.end() }
      let response = try await retryOnce { (rejected) async throws(DecisionFault) -> AccessToken in
        try await token(replacing: rejected?.token)
      } send: { (token, _) async throws(DecisionFault) -> HTTPResponse in
        try await exchange(request, with: token)
      } ifRejected: {
        $0.status == 401
      }
      return try Self.accepted(response)
    }
  }

  /// Throws for a 401, which is about the sidecar's credentials and never about the user.
  private static func accepted(_ response: HTTPResponse) throws(DecisionFault) -> HTTPResponse {
    guard response.status != 401 else {
      throw DecisionFault(.accessTokenUnavailable("the decision point rejects the sidecar's credentials"))
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
    return try await prover.retrying(DPoPRejection.init(ofResource:)) {
      [request] (terms) async throws(DecisionFault) -> (answer: HTTPResponse, response: HTTPResponse, proof: DPoPProof?)
      in
      let (response, proof) = try await exchange(request, token, key, by: terms)
      return (response, response, proof)
    }
  }

  /// Sends `request` with a proof.
  private func exchange(
    _ request: HTTPRequest, _ token: AccessToken, _ key: DPoPKey, by terms: DPoPTerms?
  ) async throws(DecisionFault) -> (HTTPResponse, DPoPProof) {
    var request = request
    let proof: DPoPProof
    do throws(TokenError) {
      proof = try prover.prove(&request, with: key, token: token.value, by: terms, for: scope.uid)
    } catch {
      throw DecisionFault(.accessTokenUnavailable(error.detail))
    }
    return (try await exchange(request, for: .question), proof)
  }

  /// Sends `request` as it is, within the decision point's rate limit, which a 429 lowers. `timeout` replaces the
  /// configured one.
  public func exchange(
    _ request: HTTPRequest, for purpose: DecisionPurpose, timeout: Duration? = nil
  ) async throws(DecisionFault) -> HTTPResponse {
    var bounds = DecisionExchangeBounds()
    bounds.timeout = timeout
    do throws(DecisionExchangeError) {
      return try await attempt(request, for: purpose, within: bounds)
    } catch {
      switch error {
      case .insecure: throw DecisionFault(.networkError("the decision point's scheme is not https"))
      case .limited:
        throw DecisionFault(.networkError("the decision point's rate limit allows no request before the deadline"))
      case .cancelled: throw DecisionFault(.networkError("cancelled"))
      case .transport(let error): throw DecisionFault(error)
      }
    }
  }

  /// Sends `request` as it is; see `exchange`.
  package func attempt(
    _ request: HTTPRequest, for purpose: DecisionPurpose, within bounds: DecisionExchangeBounds
  ) async throws(DecisionExchangeError) -> HTTPResponse {
    guard point.settings.access.plainHTTP.permits(request.url) else {
      throw .insecure
    }
    let device = request.fields["X-Forwarded-For"] ?? ""
    let peerID = purpose == .shared ? PeerID.process : PeerID(uid: subject.uid, connection: 0)
    // The result of a shared request is awaited by other users' calls, too.
    try await waitForSlot(peerID, device, mayWait: purpose == .shared || !isRefresh)
    var request = request
    scope.trace?.add(to: &request.fields)
    let options = TransferOptions(
      to: point.settings.access,
      deadline: Deadline(in: bounds.timeout ?? point.settings.timeout, on: clock).earlier(deadline),
      maxBodyBytes: bounds.maxBodyBytes, peerID: peerID, reusesConnections: purpose == .question)
    do throws(TransportError) {
      let response = try await services.send(
        request, options: options, for: .decision(point.name), in: scope)
      if response.status == 429 {
        let pause = min(DecisionFault.pause(after: response), bounds.longestPause)
        point.settings.rateLimit?.pause(peerID.uid, for: pause, at: clock.monotonicNow, device: device)
      }
      return response
    } catch {
      throw .transport(error)
    }
  }

  private func waitForSlot(
    _ peerID: PeerID, _ device: String, mayWait: Bool
  ) async throws(DecisionExchangeError) {
    guard !Task.isCancelled else { throw .cancelled }
    guard let limiter = point.settings.rateLimit else { return }
    let waiter = limiter.enqueue(for: peerID.uid, device: device)
    while true {
      let now = clock.monotonicNow
      let wait = limiter.wait(waiter, at: now)
      guard wait > .zero else { return }
      let patience = mayWait ? deadline.instant.map { $0 - now } : .zero
      guard patience.map({ wait <= $0 }) ?? true else {
        limiter.leave(waiter)
        throw .limited(wait)
      }
      do {
        try await clock.sleep(for: wait)
      } catch {
        // A waiter that leaves delays no other.
        limiter.leave(waiter)
        throw .cancelled
      }
    }
  }

  private func token(replacing rejected: AccessToken?) async throws(DecisionFault) -> AccessToken {
    if case .clientCredentials(let grant) = point.settings.credential {
      do throws(TokenError) {
        guard let rejected else {
          return try await deviceTokens.token(for: grant, in: scope)
        }
        return try await deviceTokens.token(for: grant, replacing: rejected, in: scope)
      } catch {
        throw Self.fault(error)
      }
    }
    guard let session = subject.session else { throw DecisionFault(.sessionMissing()) }
    do throws(SessionError) {
      return try await session.token(TokenNeed(rejected: rejected), .user, in: scope)
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

  /// Converts the error of a token request. The lookup does not retry it: the client's tokens have a backoff of their
  /// own.
  private static func fault(_ error: TokenError) -> DecisionFault { DecisionFault(DecisionFault(error).status) }
}

/// The bounds of one request to a decision point.
package struct DecisionExchangeBounds: Sendable {
  /// The timeout; nil for the configured one.
  package var timeout: Duration?
  /// The largest body of an answer in bytes.
  package var maxBodyBytes = DecisionReply.maxBytes
  /// The longest pause that a 429 can cause.
  package var longestPause = DecisionFault.maxPause

  package init() {}
}

/// The reason why a request to a decision point has no answer.
package enum DecisionExchangeError: Error {
  /// The scheme is not https.
  case insecure
  /// The rate limit allows no request before the deadline, but only after that time.
  case limited(Duration)
  /// The calling task was cancelled.
  case cancelled
  /// The request failed.
  case transport(TransportError)
}

extension DecisionClient: ConciseStringConvertible {
  /// The decision point.
  public var description: String { "client of \(point)" }
}
