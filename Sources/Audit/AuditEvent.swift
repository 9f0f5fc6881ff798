/// Something about the audit log itself that its operator should hear of.
public enum AuditEvent: Sendable, Hashable {
  /// A file begins; it goes on from record `after` when that is not 0.
  case opened(path: String, after: UInt64)
  /// A full file was renamed; `sequence` and `hash` are those of its last record.
  case rotated(to: String, sequence: UInt64, hash: String)
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
  /// The last record is written.
  case closed(sequence: UInt64, hash: String)
}
