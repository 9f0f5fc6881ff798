import PosternJSON
import PosternProtocol
import PosternSupport

extension SidecarService {
  /// The exposition of all metrics, in Prometheus' text format 0.0.4.
  public var metricsText: String { exposition() }

  /// Records what the audit log was not told of yet: before it is closed.
  public func finishAudit() { trail?.recordRestOfRefusals() }

  /// Whether new requests are wanted here, with the health report as JSON. Calls nobody to find out. Not while it
  /// drains, nor while a check says that it is down; what is degraded serves.
  public var readiness: (isReady: Bool, report: [UInt8]) {
    readiness(of: healthReport)
  }

  /// The same, for somebody who asks; it waits for what is about to be known, for a second at most.
  public var settledReadiness: (isReady: Bool, report: [UInt8]) {
    get async { readiness(of: await settledHealth()) }
  }

  /// Every check, as soon as what is being looked at for the first time is known: who asks in that moment would hear
  /// that everything is down, and give up.
  func settledHealth(for scope: PeerScope = .everything, by deadline: Deadline = .never) async -> Health.Result {
    wantReadiness()
    while !health.isSettled, !deadline.hasPassed(on: clock), (try? await clock.sleep(for: .milliseconds(5))) != nil {}
    return healthReport(for: scope)
  }

  private func readiness(of report: Health.Result) -> (isReady: Bool, report: [UInt8]) {
    let json = (try? JSONValueEncoder().encode(report)) ?? .null
    return (report.status != .down && !isDraining, JSONWriter().write(json))
  }
}
