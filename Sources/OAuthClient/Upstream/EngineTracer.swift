public import HTTPMessages
public import PosternSupport

/// The port through which the engine reports its work for one call: spans, in the words of distributed tracing.
///
/// A tracer belongs to one span, the parent of those that it starts. Called on the task that does the work: be quick,
/// do not block.
public protocol EngineTracer: Sendable {
  /// Starts a span.
  func begin(_ work: TracedWork) -> any EngineSpan
}

/// A span that has started.
public protocol EngineSpan: Sendable {
  /// The trace context for requests within the span.
  var context: TraceContext? { get }

  /// Ends the span; called once.
  func end(_ outcome: TracedOutcome)
}

/// The work of a span. Names of the configuration and origins, never a path, a query or a token.
public enum TracedWork: Sendable, Hashable {
  /// The wait for a token of the configured issuer of that name.
  case token(issuer: String)
  /// A request to another server.
  case exchange(UpstreamExchange.Purpose, method: String, HTTPURL.Origin)
}

/// The outcome of a span.
public enum TracedOutcome: Sendable, Hashable {
  /// Success.
  case done
  /// A response of that status.
  case status(Int)
  /// A failure with that code.
  case failed(String)
}

/// The caller's position in a distributed trace (W3C Trace Context), passed on with every request of the call.
public struct TraceContext: Sendable, Hashable {
  /// The value of `traceparent`.
  public let parent: String
  /// The value of `tracestate`, when there is one.
  public let state: String?
  /// The tracer of work within it; nil for none.
  let tracer: (any EngineTracer)?

  /// A context; nil when a value is not allowed in a header field.
  public init?(parent: String, state: String? = nil, tracer: (any EngineTracer)? = nil) {
    guard !parent.isEmpty, HTTPFieldRules.isValue(parent), HTTPFieldRules.isValue(state ?? "") else { return nil }
    self.parent = parent
    self.state = state
    self.tracer = tracer
  }

  /// The context of a position that was not received, and so is allowed in a header field.
  package init(own parent: String, tracer: (any EngineTracer)?) {
    self.parent = parent
    state = nil
    self.tracer = tracer
  }

  /// Whether both are the same position in a trace; tracers do not count.
  public static func == (left: TraceContext, right: TraceContext) -> Bool {
    left.parent == right.parent && left.state == right.state
  }

  /// Hashes the position.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(parent)
    hasher.combine(state)
  }

  /// Adds the fields that `fields` lacks: fields of the caller take precedence.
  package func add(to fields: inout HTTPFields) {
    guard fields["traceparent"] == nil else { return }
    fields["traceparent"] = parent
    if let state, fields["tracestate"] == nil { fields["tracestate"] = state }
  }
}

extension TraceContext: ConciseStringConvertible {
  /// The parent: a state belongs to others.
  public var description: String { "trace \(parent)" }
}
