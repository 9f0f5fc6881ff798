public import PosternJSON
public import PosternSupport

/// One thing to be recorded: what happened, and when. Number and hashes are given to it when it is written.
public struct AuditRecord: Sendable {
  /// When it happened.
  public let time: Timestamp
  /// What happened; the names `seq`, `time`, `prev` and `hash` are the chain's own.
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
