public import HTTPMessages

/// The port through which the engine tells what it does for one call, piece by piece: spans, in the words of
/// distributed tracing.
///
/// A tracer belongs to one span, the one that causes what is begun. Called on whatever task does the work: be quick, do
/// not block.
public protocol EngineTracer: Sendable {
  /// Work begins.
  func begin(_ work: TracedWork) -> any EngineSpan
}

/// A piece of work that has begun.
public protocol EngineSpan: Sendable {
  /// The place in the trace of what this work causes.
  var context: TraceContext? { get }

  /// The work has ended; called once.
  func end(_ outcome: TracedOutcome)
}

/// What a span is about. Names of the configuration and origins, never a path, a query or a token.
public enum TracedWork: Sendable, Hashable {
  /// Waiting for a token of the configured issuer of that name, since none was at hand.
  case token(issuer: String)
  /// An exchange with another server.
  case exchange(UpstreamExchange.Purpose, method: String, HTTPURL.Origin)
}

/// How a span ended.
public enum TracedOutcome: Sendable, Hashable {
  /// As it was to.
  case done
  /// With a response of that status.
  case status(Int)
  /// Without what it was to bring, for the reason of that code.
  case failed(String)
}

extension TraceContext? {
  /// Runs `body` as a span about a token, within what waits for it; its requests are the span's. What `body` throws is
  /// told as `no_token`.
  package func waitingForToken<Value, Failure: Error>(
    of issuer: String, _ body: (TraceContext?) async throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    guard let span = self?.tracer?.begin(.token(issuer: issuer)) else { return try await body(self) }
    do throws(Failure) {
      let value = try await body(span.context)
      span.end(.done)
      return value
    } catch {
      span.end(.failed("no_token"))
      throw error
    }
  }
}
