import AuthEngine
import PosternSupport
import PosternTelemetry

/// Begins spans that one span of a sampled call causes.
struct CallTracer: EngineTracer {
  let exporter: SpanExporter
  let clock: any EngineClock
  let traceID: String
  /// The span that causes them.
  let spanID: String
  /// When the call began, on both clocks: the others' times follow from it, so that no step of the wall clock turns
  /// them round.
  let began: (wall: Timestamp, monotonic: MonotonicInstant)

  /// Now, in nanoseconds since the epoch.
  var now: Int64 {
    let sinceBeginning = clock.monotonicNow.nanoseconds - began.monotonic.nanoseconds
    return began.wall.millisecondsSinceEpoch * 1_000_000 + sinceBeginning
  }

  func begin(_ work: TracedWork) -> any EngineSpan { WorkSpan(work, of: self) }

  /// The tracer of what the span `spanID` causes.
  func within(_ spanID: String) -> CallTracer {
    CallTracer(exporter: exporter, clock: clock, traceID: traceID, spanID: spanID, began: began)
  }
}
