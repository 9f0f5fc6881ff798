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

  /// Gives the call its trace and tracer. Calls that check health are not traced.
  func start(
    _ method: String, continuing received: String?, since start: MonotonicInstant, _ context: inout CallContext
  ) {
    guard !ProtocolMethods.traits(of: method).contains(.isProbe) else { return }
    let trace = trace(continuing: received)
    context.trace = trace
    guard let spans, trace.isSampled else { return }
    context.tracer = CallTracer(
      exporter: spans, clock: clock, traceID: trace.traceID, spanID: trace.spanID,
      began: (wall: clock.wallNow, monotonic: start))
  }
}
