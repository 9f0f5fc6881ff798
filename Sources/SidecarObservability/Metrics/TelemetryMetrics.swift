package import PosternTelemetry

/// Metrics of exported and dropped spans.
package enum TelemetryMetrics {
  /// The family; none without a collector.
  package static func exposition(_ counts: SpanExporter.Counts?) -> String {
    guard let counts else { return "" }
    func family(_ name: String, _ help: String, _ values: [(String, UInt64)]) -> String {
      var family = MetricFamily(name, .counter, help)
      for (outcome, value) in values { family.sample([("outcome", outcome)], value) }
      return family.text
    }
    return family(
      "postern_telemetry_spans_total", "Spans of sampled calls by what became of them.",
      [("dropped", counts.dropped), ("exported", counts.exported)])
  }
}
