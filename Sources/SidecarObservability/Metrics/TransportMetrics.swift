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
