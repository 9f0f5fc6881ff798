package import HTTPMessages

/// The caller's place in a distributed trace (W3C Trace Context), passed on to every request it causes.
public struct TraceContext: Sendable, Hashable {
  /// The value of `traceparent`.
  public let parent: String
  /// The value of `tracestate`, when there is one.
  public let state: String?
  /// Who is told what is done within it; nil: nobody.
  let tracer: (any EngineTracer)?

  /// A context; nil when a value could not stand in a header field.
  public init?(parent: String, state: String? = nil, tracer: (any EngineTracer)? = nil) {
    guard !parent.isEmpty, HTTPFieldRules.isValue(parent), HTTPFieldRules.isValue(state ?? "") else { return nil }
    self.parent = parent
    self.state = state
    self.tracer = tracer
  }

  /// The same place in a trace, whoever is told.
  public static func == (left: TraceContext, right: TraceContext) -> Bool {
    left.parent == right.parent && left.state == right.state
  }

  /// Feeds the place.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(parent)
    hasher.combine(state)
  }

  /// Adds the fields that `fields` does not have yet: what a caller wrote itself goes first.
  package func add(to fields: inout HTTPFields) {
    guard fields["traceparent"] == nil else { return }
    fields["traceparent"] = parent
    if let state, fields["tracestate"] == nil { fields["tracestate"] = state }
  }
}
