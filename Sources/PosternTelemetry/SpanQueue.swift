import PosternSupport

/// Spans on their way to the collector: bounded, for nobody waits for a collector.
final class SpanQueue: Sendable {
  private struct State {
    var spans: [TelemetrySpan] = []
    var counts = SpanExporter.Counts()
  }

  private let capacity: Int
  private let state = Locked(State())

  init(capacity: Int) { self.capacity = capacity }

  /// Takes a span in, or counts it as dropped.
  func add(_ span: TelemetrySpan) {
    state.withLock { state in
      guard state.spans.count < capacity else { return state.counts.dropped += 1 }
      state.spans.append(span)
    }
  }

  /// At most `limit` spans, the oldest first.
  func take(_ limit: Int) -> [TelemetrySpan] {
    state.withLock { state in
      let taken = Array(state.spans.prefix(limit))
      state.spans.removeFirst(taken.count)
      return taken
    }
  }

  /// Puts spans back in front.
  func putBack(_ spans: [TelemetrySpan]) { state.withLock { $0.spans.insert(contentsOf: spans, at: 0) } }

  /// That many were taken by the collector.
  func exported(_ count: Int) { state.withLock { $0.counts.exported += UInt64(count) } }

  /// That many were given up.
  func dropped(_ count: Int) { state.withLock { $0.counts.dropped += UInt64(count) } }

  var counts: SpanExporter.Counts { state.withLock { $0.counts } }
}
