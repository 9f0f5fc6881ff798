package import AuthEngine
package import PosternObservability
package import PosternSupport

/// Begins spans that one span of a sampled call causes.
package struct CallTracer: EngineTracer {
  package let exporter: SpanExporter
  package let clock: any EngineClock
  package let traceID: String
  /// The span that causes them.
  package let spanID: String
  /// When the call began, on both clocks: the others' times follow from it, so that no step of the wall clock
  /// reverses them.
  package let began: (wall: Timestamp, monotonic: MonotonicInstant)

  package init(
    exporter: SpanExporter, clock: any EngineClock, traceID: String, spanID: String,
    began: (wall: Timestamp, monotonic: MonotonicInstant)
  ) {
    self.exporter = exporter
    self.clock = clock
    self.traceID = traceID
    self.spanID = spanID
    self.began = began
  }

  /// Now, in nanoseconds since the epoch.
  package var now: Int64 {
    let sinceBeginning = clock.monotonicNow.nanoseconds - began.monotonic.nanoseconds
    return began.wall.millisecondsSinceEpoch * 1_000_000 + sinceBeginning
  }

  package func begin(_ work: TracedWork) -> any EngineSpan { WorkSpan(work, of: self) }

  /// The tracer of what the span `spanID` causes.
  package func within(_ spanID: String) -> CallTracer {
    CallTracer(exporter: exporter, clock: clock, traceID: traceID, spanID: spanID, began: began)
  }
}
