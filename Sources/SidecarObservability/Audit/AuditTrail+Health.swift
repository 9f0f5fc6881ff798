package import PosternAudit
package import PosternProtocol

extension AuditTrail {
  /// Whether calls that must be recorded may start now.
  package var isUsable: Bool { log.isUsable }

  /// How the log is.
  package var condition: AuditLog.Condition { log.condition }

  /// The log's check: while it cannot be written, nothing that must be recorded works with `failClosed`, and without it
  /// nothing is recorded.
  package var check: Health.Check {
    guard let failure = log.condition.failure else { return Health.Check(status: .ok) }
    return Health.Check(status: log.failClosed ? .down : .degraded, detail: "records cannot be written: \(failure)")
  }
}
