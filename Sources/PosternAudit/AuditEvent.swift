/// Something about the audit log itself that its operator should hear of.
public enum AuditEvent: Sendable, Hashable {
  /// A file begins, or is gone on with, behind record `after`; nil: it begins a chain.
  case opened(path: String, after: AuditCheckpoint?)
  /// A full file was renamed; with its last record.
  case rotated(to: String, AuditCheckpoint)
  /// What stood in the file cannot be gone on from: it was renamed, and a new chain begins.
  case setAside(as: String, because: String)
  /// The end of the file was half a record; it was moved to a file of its own.
  case fragmentFound(kept: String, byteCount: Int)
  /// Somebody else wrote to the file, or cut it.
  case disturbed(expectedBytes: Int, foundBytes: Int)
  /// Records cannot be written.
  case failing(String)
  /// They can again; that many were not written meanwhile.
  case recovered(missing: UInt64)
  /// How far the chain on the disk has come: told now and then, for whoever keeps it elsewhere.
  case reached(AuditCheckpoint)
  /// The last record is written.
  case closed(AuditCheckpoint)
}
