import PosternAudit
import PosternProtocol

extension AuditTrail {
  /// Whether what must be recorded may begin now.
  var isUsable: Bool { log.isUsable }

  /// How the log is.
  var condition: AuditLog.Condition { log.condition }

  /// The log's check: while it cannot be written, nothing that must be recorded works with `failClosed`, and without it
  /// nothing is recorded.
  var check: Health.Check {
    guard let failure = log.condition.failure else { return Health.Check(status: .ok) }
    return Health.Check(status: log.failClosed ? .down : .degraded, detail: "records cannot be written: \(failure)")
  }
}
