public import PosternJSON
public import PosternSupport

/// A record to be written: an event and its time. The chain adds number and hashes.
public struct AuditRecord: Sendable {
  /// The time of the event.
  public let time: Timestamp
  /// The event; the names `seq`, `time`, `prev` and `hash` are reserved for the chain.
  public let members: JSONObject

  /// A record of `members`.
  public init(at time: Timestamp, _ members: JSONObject) {
    self.time = time
    self.members = members
  }

  /// A record about the log itself: `what` is `begun`, `continued`, `started`, `closed`, `disturbed`, `fragment`,
  /// `refused` or `lost`.
  static func log(_ what: String, at time: Timestamp, _ details: JSONObject = JSONObject()) -> AuditRecord {
    var members: JSONObject = ["event": "log", "what": .string(what)]
    for member in details.members { members[member.name] = member.value }
    return AuditRecord(at: time, members)
  }
}

/// An event of the audit log itself, for its operator.
public enum AuditEvent: Sendable, Hashable {
  /// A file was opened, and continues the chain after record `after`; nil: a new chain.
  case opened(path: String, after: AuditCheckpoint?)
  /// A full file was renamed; with its last record.
  case rotated(to: String, AuditCheckpoint)
  /// The chain in the file cannot be continued: the file was renamed, and a new chain started.
  case setAside(as: String, because: String)
  /// The file ended within a record; the fragment was moved to a file of its own.
  case fragmentFound(kept: String, byteCount: Int)
  /// Another program wrote to the file, or truncated it.
  case disturbed(expectedBytes: Int, foundBytes: Int)
  /// Records cannot be written.
  case failing(String)
  /// Records can be written again; `missing` were lost meanwhile.
  case recovered(missing: UInt64)
  /// The last record on the disk, reported from time to time, so that it can be noted elsewhere.
  case reached(AuditCheckpoint)
  /// The last record is written.
  case closed(AuditCheckpoint)
}

/// The reason why an audit log cannot be opened, written or read.
public struct AuditError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The reason, for people.
  public let description: String
  /// Whether a later attempt may succeed with the same settings: another process is still writing, a disk is full.
  public let isTransient: Bool

  /// An error of that description.
  public init(_ description: String, isTransient: Bool = false) {
    self.description = description
    self.isTransient = isTransient
  }
}
