import HTTPMessages

/// The caller's place in a distributed trace (W3C Trace Context), passed on to every request it causes.
public struct TraceContext: Sendable, Hashable {
  /// The value of `traceparent`.
  public let parent: String
  /// The value of `tracestate`, when there is one.
  public let state: String?

  /// A context; nil when a value could not stand in a header field.
  public init?(parent: String, state: String? = nil) {
    guard !parent.isEmpty, HTTPFieldRules.isValue(parent), HTTPFieldRules.isValue(state ?? "") else { return nil }
    self.parent = parent
    self.state = state
  }

  /// Adds the fields that `fields` does not have yet: what a caller wrote itself goes first.
  func add(to fields: inout HTTPFields) {
    guard fields["traceparent"] == nil else { return }
    fields["traceparent"] = parent
    if let state, fields["tracestate"] == nil { fields["tracestate"] = state }
  }
}
