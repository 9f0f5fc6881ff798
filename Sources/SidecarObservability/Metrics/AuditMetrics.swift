package import PosternAudit

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
