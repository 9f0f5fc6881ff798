package import PosternObservability
import PosternProtocol
package import PosternSupport

/// Gives a call its position in a trace, and a tracer when the trace is sampled.
package struct TraceStep: Sendable {
  package let spans: SpanExporter?
  /// The share of new traces that are sampled.
  private let sampleRatio: Double
  private let clock: any EngineClock

  package init(spans: SpanExporter?, sampleRatio: Double, clock: any EngineClock) {
    self.spans = spans
    self.sampleRatio = sampleRatio
    self.clock = clock
  }

  /// Continues the caller's trace, or starts one.
  func trace(continuing received: String?) -> CallTrace {
    CallTrace(continuing: received, sampling: spans == nil ? nil : sampleRatio)
  }

  /// The trace and tracer of a call. Calls that check health are not traced.
  func start(
    _ method: String, continuing received: String?, since start: MonotonicInstant
  ) -> (CallTrace, CallTracer?) {
    guard !ProtocolMethods.traits(of: method).contains(.isProbe) else { return (.none, nil) }
    let trace = trace(continuing: received)
    guard let spans, trace.isSampled else { return (trace, nil) }
    let tracer = CallTracer(
      exporter: spans, clock: clock, traceID: trace.traceID, spanID: trace.spanID,
      began: (wall: clock.wallNow, monotonic: start))
    return (trace, tracer)
  }
}
