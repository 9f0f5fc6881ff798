import PosternJSON
import PosternSupport

/// The chain as far as it is written: gives each record its number, the hash of the record before, and its own.
///
/// A value: what could not be written is forgotten by going back to the value before.
struct AuditChain: Sendable {
  /// The number of the last record; 0 when there is none.
  private(set) var sequence: UInt64
  /// The hash of the last record.
  private(set) var hash: String
  private let seal: AuditSeal

  /// A chain that goes on behind record `sequence`; without one it begins.
  init(_ seal: AuditSeal, after sequence: UInt64 = 0, hash: String = AuditSeal.none) {
    self.seal = seal
    self.sequence = sequence
    self.hash = hash
  }

  /// The last record; nil when there is none.
  var checkpoint: AuditCheckpoint? { sequence > 0 ? AuditCheckpoint(sequence: sequence, hash: hash) : nil }

  /// The line of the next record, its line feed included.
  mutating func line(_ record: AuditRecord) -> [UInt8] {
    var text = Self.text(record.members, sequence + 1, record.time, after: hash)
    // Callers keep their records far below; a line that no verification reads would break the chain.
    if text.count > AuditLine.longest - AuditLine.sealRoom {
      text = Self.text(Self.essence(of: record.members), sequence + 1, record.time, after: hash)
    }
    sequence += 1
    hash = seal.hash(text[...])
    text.append(contentsOf: AuditLine.sealMark)
    text.append(contentsOf: hash.utf8)
    text.append(contentsOf: "\"}\n".utf8)
    return text
  }

  /// Who did what of a record that is too long.
  private static func essence(of members: JSONObject) -> JSONObject {
    var essence: JSONObject = ["oversized": true]
    for name in ["event", "outcome", "reason", "method", "uid", "gid", "pid", "connection", "traceId"] {
      guard let value = members[name], value.stringValue.map({ $0.utf8.count <= 256 }) ?? (value.integerValue != nil)
      else { continue }
      essence[name] = value
    }
    return essence
  }

  /// The record without its hash and without the brace at its end.
  private static func text(_ given: JSONObject, _ sequence: UInt64, _ time: Timestamp, after hash: String) -> [UInt8] {
    var members: JSONObject = ["seq": .integer(Int64(clamping: sequence)), "time": .string(time.rfc3339)]
    for member in given.members where !AuditLine.ownNames.contains(member.name) {
      members[member.name] = member.value
    }
    members["prev"] = .string(hash)
    return JSONWriter().write(.object(members)).dropLast()
  }
}
