import HTTPMessages
import Support

/// One fetch on its way: exchanges, redirects, at most one repetition with a newer token.
struct ResourceCall {
  private let upstream: Upstream
  private let server: ResourceServer
  private let tokens: (any TokenSource)?
  private let method: HTTPMethod
  private let options: TransferOptions
  private let followsRedirects: Bool
  private let trace: TraceContext?
  private let evaluateTokenRefresh: (@Sendable (HTTPResponse) async -> Bool?)?
  private let started: MonotonicInstant

  private var attempts = 1
  private var redirects = 0
  private var tokenRefreshed = false
  private var timing = HTTPResponse.Timing()

  init(
    upstream: Upstream, server: ResourceServer, tokens: (any TokenSource)?, method: HTTPMethod, deadline: Deadline,
    fetch: FetchOptions
  ) {
    self.upstream = upstream
    self.server = server
    self.tokens = tokens
    self.method = method
    followsRedirects = fetch.followsRedirects
    trace = fetch.trace
    evaluateTokenRefresh = fetch.evaluateTokenRefresh
    options = TransferOptions(
      deadline: deadline, maxBodyBytes: server.maxBodyBytes, allowsPlainHTTP: server.allowsPlainHTTPOnLoopback,
      caFile: server.caFile)
    started = upstream.clock.monotonicNow
  }

  /// Carries `request` out, from the token to the last answer.
  mutating func run(_ request: HTTPRequest) async throws(ResourceError) -> ResourceResponse {
    var request = request
    // Once a redirect has crossed origins the token is gone for good: the way back may be the other side's idea.
    var token = try await firstToken()
    while true {
      let response = try await exchange(request, token)
      if let rejected = token, attempts == 1, await needsRenewal(response) {
        guard let newer = try await replacement(of: rejected) else { return result(response, from: request) }
        upstream.observer.observe(.tokenRejected(resource: server.name))
        token = newer
        attempts = 2
        tokenRefreshed = true
        continue
      }
      guard followsRedirects, let step = RedirectRules.next(after: request, response, within: server) else {
        return result(response, from: request)
      }
      redirects += 1
      guard redirects <= RedirectRules.limit else {
        throw ResourceError(
          .protocolError, "more than \(RedirectRules.limit) redirects", outcome: .replied,
          upstream: .init(status: response.status), retryable: false)
      }
      request = step.request
      if step.crossesOrigins { token = nil }
    }
  }

  private func firstToken() async throws(ResourceError) -> AccessToken? {
    try await tokens?.token(replacing: nil, deadline: options.deadline, trace: trace)
  }

  /// A newer token; nil when there is none to be had, so that the answer stands as it is. Cancellation and the deadline
  /// end the call.
  private func replacement(of rejected: AccessToken) async throws(ResourceError) -> AccessToken? {
    guard let tokens else { return nil }
    do throws(ResourceError) {
      return try await tokens.token(replacing: rejected, deadline: options.deadline, trace: trace)
    } catch {
      switch error.code {
      case .requestCancelled:
        throw ResourceError(.requestCancelled, "cancelled while a refused token was renewed", outcome: .replied)
      case .deadlineExceeded:
        throw ResourceError(
          .deadlineExceeded, "the deadline passed while a refused token was renewed", outcome: .replied,
          retryable: true)
      default: return nil
      }
    }
  }

  private mutating func exchange(_ request: HTTPRequest, _ token: AccessToken?) async throws(ResourceError)
    -> HTTPResponse
  {
    var request = request
    if let token { request.fields["Authorization"] = "Bearer \(token.value.reveal())" }
    do throws(TransportError) {
      let response = try await upstream.send(request, options: options, for: .resource(server.name))
      timing.queued += response.timing.queued
      timing.connect += response.timing.connect
      timing.firstByte += response.timing.firstByte
      return response
    } catch {
      throw ResourceError(error, method: method, mayHaveHadEffect: redirects > 0)
    }
  }

  /// The resource's own statuses whatever the challenge; else 401 with a bearer challenge that a newer token can meet:
  /// a token lacking scope (RFC 6750 section 3.1) or authentication strength (RFC 9470) stays what it is when it is
  /// renewed.
  private func needsRenewal(_ response: HTTPResponse) async -> Bool {
    if let decision = await evaluateTokenRefresh?(response) { return decision }
    if let statuses = server.refreshOn { return statuses.contains(response.status) }
    guard response.status == 401 else { return false }
    return AuthenticationChallenge.all(in: response.fields).contains { challenge in
      challenge.isScheme("Bearer") && challenge["error"] != "insufficient_scope"
        && challenge["error"] != "insufficient_user_authentication"
    }
  }

  private func result(_ response: HTTPResponse, from request: HTTPRequest) -> ResourceResponse {
    var timing = timing
    timing.total = upstream.clock.monotonicNow - started
    return ResourceResponse(
      status: response.status, reason: response.reason, url: request.url, fields: response.fields, body: response.body,
      attempts: attempts, tokenRefreshed: tokenRefreshed, timing: timing)
  }
}
