package import PosternProtocol
import PosternSupport

/// The state of the transports.
package struct TransportState: Sendable {
  /// Why exchanges cannot be set up; nil when they can.
  package var problem: String?
  /// Connections given up because something had come over them before a request was sent.
  package var connectionsDiscarded: Int
  /// Handles thrown away because the library rejected an option.
  package var handlesRejected: Int
  /// How often all connections of a resource with HTTP/2 were shut down, because its thread did not come back from
  /// libcurl.
  package var stalls: Int
  /// How long ago that was the last time, by resource, of those where it was not long ago.
  package var stalled: [String: Duration] = [:]

  /// A state of those parts.
  package init(problem: String? = nil, connectionsDiscarded: Int = 0, handlesRejected: Int = 0, stalls: Int = 0) {
    self.problem = problem
    self.connectionsDiscarded = connectionsDiscarded
    self.handlesRejected = handlesRejected
    self.stalls = stalls
  }

  /// The checks of `health` of the resources that `isVisible` accepts; none when there is no error.
  package func checks(_ isVisible: (_ resource: String) -> Bool) -> [String: Health.Check] {
    var checks: [String: Health.Check] = [:]
    checks["transport"] = problem.map { Health.Check(status: .degraded, detail: $0) }
    for (resource, age) in stalled where isVisible(resource) {
      checks["resource.\(resource)"] = Health.Check(
        status: .degraded, detail: "its server kept its thread busy, and its connections were shut down",
        ageMs: age.wholeMilliseconds)
    }
    return checks
  }
}
