package import PosternObservability

/// Metrics of discarded connections and handles.
package enum TransportMetrics {
  /// The families; none if the state is unknown.
  package static func exposition(_ state: TransportState?) -> String {
    guard let state else { return "" }
    func family(_ name: String, _ help: String, _ value: Int) -> String {
      var family = MetricFamily(name, .counter, help)
      family.sample([], value)
      return family.text
    }
    return family(
      "postern_upstream_connections_discarded_total",
      "Connections closed because the server had sent something before a request.", state.connectionsDiscarded)
      + family(
        "postern_upstream_handles_rejected_total", "libcurl handles thrown away because an option was rejected.",
        state.handlesRejected)
      + family(
        "postern_upstream_stalls_total",
        "Times a server kept the thread of a resource with HTTP/2 busy until its connections were shut down.",
        state.stalls)
  }
}

/// Metrics of journeys and fetches that wait for users.
package enum AdviceMetrics {
  /// The families.
  package static func exposition(journeys: Int, fetches: Int) -> String {
    func family(_ name: String, _ help: String, _ value: Int) -> String {
      var family = MetricFamily(name, .gauge, help)
      family.sample([], value)
      return family.text
    }
    return family("postern_journeys_waiting", "Logins at access managers that wait between their steps.", journeys)
      + family("postern_fetches_stopped", "Fetches that wait for policy advice to be satisfied.", fetches)
  }
}

/// How the audit log is, in the Prometheus sense.
package enum AuditMetrics {
  /// The families; none without a log.
  package static func exposition(_ condition: AuditLog.Condition?) -> String {
    guard let condition else { return "" }
    func family(_ name: String, _ kind: MetricFamily.Kind, _ help: String, _ value: UInt64) -> String {
      var family = MetricFamily(name, kind, help)
      family.sample([], value)
      return family.text
    }
    return
      family("postern_audit_sequence", .gauge, "The number of the audit log's last record.", condition.sequence)
      + family(
        "postern_audit_records_missing_total", .counter, "Records that could not be written to the audit log.",
        condition.missingTotal)
  }
}

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

/// How many endpoints there are and were.
package struct EndpointCounts: Sendable {
  package var open = 0
  package var created: UInt64 = 0
  /// Counts by the reason of the end.
  package var ended: [String: UInt64] = [:]

  package init() {}
}

/// Metrics of endpoints and approvals.
package enum EndpointMetrics {
  /// The families; `approvals`: how often calls were put to makers, by answer.
  package static func exposition(_ counts: EndpointCounts, approvals: [String: UInt64]) -> String {
    func family(
      _ name: String, _ kind: MetricFamily.Kind, _ help: String, _ fill: (inout MetricFamily) -> Void
    ) -> String {
      var family = MetricFamily(name, kind, help)
      fill(&family)
      return family.text
    }
    return family("postern_endpoints", .gauge, "Endpoints that there are.") { $0.sample([], counts.open) }
      + family("postern_endpoints_created_total", .counter, "Endpoints made.") { $0.sample([], counts.created) }
      + family("postern_endpoints_ended_total", .counter, "Endpoints ended, by what they ended with.") { family in
        for (reason, count) in counts.ended.sorted(by: { $0.key < $1.key }) {
          family.sample([("reason", reason)], count)
        }
      }
      + family("postern_approvals_total", .counter, "Calls put to makers of endpoints, by answer.") { family in
        for (answer, count) in approvals.sorted(by: { $0.key < $1.key }) { family.sample([("answer", answer)], count) }
      }
  }
}
