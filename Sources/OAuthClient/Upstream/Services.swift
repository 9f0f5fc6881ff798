package import HTTPMessages
package import PosternSupport

/// What all parts of the engine share, made once: transport, clock, observer, user agent. Every request carries the user
/// agent and is reported to the observer.
package final class Services: Sendable {
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

  /// The same services with another transport; unchanged if `transport` is nil.
  package func carried(by transport: (any HTTPTransport)?) -> Services {
    guard let transport else { return self }
    return Services(transport: transport, clock: clock, observer: observer, userAgent: userAgent)
  }

  /// `attempt`: which request this is of those for the same result, from 1.
  package func send(
    _ request: HTTPRequest, options: TransferOptions, for purpose: UpstreamExchange.Purpose,
    attempt: Int = 1, in scope: CallScope
  ) async throws(TransportError) -> HTTPResponse {
    let exchange = begin(request, for: purpose, attempt: attempt, in: scope)
    let result: Result<HTTPResponse, TransportError>
    do throws(TransportError) {
      result = .success(try await transport.send(exchange.request, options: options))
    } catch {
      result = .failure(error)
    }
    exchange.end(result)
    return try result.get()
  }

  /// Begins an exchange, which the caller sends by `ReportedExchange.start` and ends.
  package func begin(
    _ request: consuming HTTPRequest, for purpose: UpstreamExchange.Purpose, attempt: Int, in scope: CallScope
  ) -> ReportedExchange {
    request.fields["User-Agent"] = userAgent
    let span = scope.trace?.tracer?.begin(.exchange(purpose, method: request.method, request.url.origin))
    // The server's spans are children of this request's span; a field that a caller wrote itself remains.
    if let span, let trace = scope.trace, request.fields["traceparent"] == trace.parent {
      request.fields["traceparent"] = span.context?.parent ?? trace.parent
    }
    return ReportedExchange(
      services: self, request: request, purpose: purpose, attempt: attempt, scope: scope, span: span)
  }
}

/// One request of the engine, which is reported to the observer and in its trace when it has ended.
package final class ReportedExchange: Sendable {
  /// The request as it is sent.
  let request: HTTPRequest
  private let services: Services
  private let purpose: UpstreamExchange.Purpose
  private let attempt: Int
  private let scope: CallScope
  private let span: (any EngineSpan)?
  private let started: MonotonicInstant
  private let startedAt: Timestamp

  fileprivate init(
    services: Services, request: HTTPRequest, purpose: UpstreamExchange.Purpose, attempt: Int, scope: CallScope,
    span: (any EngineSpan)?
  ) {
    self.services = services
    self.request = request
    self.purpose = purpose
    self.attempt = attempt
    self.scope = scope
    self.span = span
    started = services.clock.monotonicNow
    startedAt = services.clock.wallNow
  }

  /// Hands the request to the transport; see `HTTPTransport.start`. `whenEnded` passes the result on to whoever calls
  /// `end` with it: not on the transport's thread.
  package func start(
    options: TransferOptions, whenEnded: @escaping @Sendable (Result<HTTPResponse, TransportError>) -> Void
  ) -> (any TransferHandle)? {
    services.transport.start(request, options: options, whenEnded: whenEnded)
  }

  /// Reports the end; called once.
  package func end(_ result: Result<HTTPResponse, TransportError>) {
    switch result {
    case .success(let response):
      report(.status(response.status))
      span?.end(.status(response.status))
      if let issuer = purpose.issuer,
        let skew = ClockSkew.of(response, sentAt: startedAt, receivedAt: services.clock.wallNow)
      {
        services.observer.observe(.clockCompared(issuer: issuer, skew: skew), in: scope)
      }
    case .failure(let error):
      report(.failed(error.code))
      span?.end(.failed(error.code.rawValue))
    }
  }

  private func report(_ outcome: UpstreamExchange.Outcome) {
    services.observer.observe(
      .exchange(
        UpstreamExchange(
          purpose: purpose, method: request.method, url: request.shownURL ?? request.url, attempt: attempt,
          outcome: outcome, duration: services.clock.monotonicNow - started)), in: scope)
  }
}

extension ReportedExchange: ConciseStringConvertible {}
