import JSON
import Protocol

extension SidecarService {
  /// The exposition of all metrics, in Prometheus' text format 0.0.4.
  public var metricsText: String { exposition }

  /// Whether new requests are wanted here, with the health report as JSON. Calls nobody to find out. Not while it drains, nor while a check
  /// says that it is down; what is degraded serves.
  public var readiness: (isReady: Bool, report: [UInt8]) {
    let report = healthReport
    let json = (try? JSONValueEncoder().encode(report)) ?? .null
    return (report.status != .down && !isDraining, JSONWriter().write(json))
  }
}
