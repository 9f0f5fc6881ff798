package import HTTPMessages
package import PosternSupport

/// What all parts of the engine share, made once: transport, clock, observer, user agent. Every request carries the user
/// agent and is reported to the observer.
package struct Services: Sendable {
  let transport: any HTTPTransport
  package let clock: any EngineClock
  package let observer: any EngineObserver
  let userAgent: String

  package init(transport: any HTTPTransport, clock: any EngineClock, observer: any EngineObserver, userAgent: String) {
    self.transport = transport
    self.clock = clock
    self.observer = observer
    self.userAgent = userAgent
  }

  /// Returns the same over `transport`; itself when there is none.
  package func carried(by transport: (any HTTPTransport)?) -> Services {
    Services(transport: transport ?? self.transport, clock: clock, observer: observer, userAgent: userAgent)
  }

  /// `attempt`: which request this is of those for the same result, from 1.
  package func send(
    _ request: HTTPRequest, options: TransferOptions, for purpose: UpstreamExchange.Purpose,
    attempt: Int = 1, in scope: CallScope
  ) async throws(TransportError) -> HTTPResponse {
    var request = request
    request.fields["User-Agent"] = userAgent
    let span = scope.trace?.tracer?.begin(.exchange(purpose, method: request.method, request.url.origin))
    // The server's spans are children of this request's span; a field that a caller wrote itself remains.
    if let span, let trace = scope.trace, request.fields["traceparent"] == trace.parent {
      request.fields["traceparent"] = span.context?.parent ?? trace.parent
    }
    let started = clock.monotonicNow
    let startedAt = clock.wallNow
    func report(_ outcome: UpstreamExchange.Outcome) {
      let duration = clock.monotonicNow - started
      observer.observe(
        .exchange(
          UpstreamExchange(
            purpose: purpose, method: request.method, url: request.shownURL ?? request.url, attempt: attempt,
            outcome: outcome,
            duration: duration)), in: scope)
    }
    do throws(TransportError) {
      let response = try await transport.send(request, options: options)
      report(.status(response.status))
      span?.end(.status(response.status))
      if let issuer = purpose.issuer,
        let skew = ClockSkew.of(response, sentAt: startedAt, receivedAt: clock.wallNow)
      {
        observer.observe(.clockCompared(issuer: issuer, skew: skew), in: scope)
      }
      return response
    } catch {
      report(.failed(error.code))
      span?.end(.failed(error.code.rawValue))
      throw error
    }
  }
}
