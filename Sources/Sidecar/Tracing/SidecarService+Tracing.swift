import PosternSupport
import PosternTelemetry

extension SidecarService {
  /// The place of a new call in the caller's trace, or in one of its own.
  func trace(continuing received: String?) -> CallTrace {
    CallTrace(continuing: received, sampling: surroundings.spans == nil ? nil : sampleRatio)
  }

  /// What has become of spans; nil without a collector.
  var spanCounts: SpanExporter.Counts? { surroundings.spans?.counts }

  /// Who is told what a call causes; nil when its trace is not sampled.
  func tracer(of trace: CallTrace, since start: MonotonicInstant) -> CallTracer? {
    guard let exporter = surroundings.spans, trace.isSampled else { return nil }
    return CallTracer(
      exporter: exporter, clock: clock, traceID: trace.traceID, spanID: trace.spanID,
      began: (wall: clock.wallNow, monotonic: start))
  }
}
