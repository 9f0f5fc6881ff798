package import AuthEngine
import HTTPMessages
import PosternObservability

/// Metrics of the origins of resources with limits. The configuration bounds their number.
package enum OriginMetrics {
  /// The families; `servers` are the configured ones, `states` the recorded ones.
  package static func exposition(_ servers: [ResourceServer], _ states: [OriginState]) -> String {
    var rows: [OriginState] = []
    for server in servers.sorted(by: { $0.name < $1.name }) where server.limits != nil {
      let origins = Set(server.locations.map(\.origin))
      for origin in origins.sorted(by: { $0.description < $1.description }) {
        let state = states.first { $0.resource == server.name && $0.origin == origin }
        rows.append(state ?? OriginState(resource: server.name, origin: origin))
      }
    }
    func family(_ name: String, _ help: String, _ value: (OriginState) -> Int) -> String {
      var family = MetricFamily(name, .gauge, help)
      for row in rows { family.sample([("resource", row.resource), ("origin", row.origin.description)], value(row)) }
      return family.text
    }
    return
      family("postern_resource_in_flight", "Requests on their way, where a resource has limits.") { $0.inFlight }
      + family("postern_resource_waiting", "Requests that wait for a slot, where a resource has limits.") {
        $0.waiting
      }
      + family("postern_resource_breaker_state", "Breakers: 0 is closed, 1 half-open, 2 open.") { state in
        switch state.circuit {
        case .closed: 0
        case .halfOpen: 1
        case .open: 2
        }
      }
  }
}
