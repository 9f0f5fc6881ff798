import PosternJSON
import PosternSupport

/// The state of the chain: adds to each record its number, the hash of the record before it, and its own hash.
///
/// A value type: after a failed write the writer continues with the previous value.
struct AuditChain: Sendable {
  /// The number of the last record; 0 when there is none.
  private(set) var sequence: UInt64
  /// The hash of the last record.
  private(set) var hash: String
  private let seal: AuditSeal

  /// A chain that continues after record `sequence`; by default a new one.
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
    // Records are far smaller. Verification reads no longer line, so one would break the chain.
    if text.count > AuditLine.longest - AuditLine.sealLength {
      text = Self.text(Self.essence(of: record.members), sequence + 1, record.time, after: hash)
    }
    sequence += 1
    hash = seal.hash(text[...])
    text.append(contentsOf: AuditLine.sealMark)
    text.append(contentsOf: hash.utf8)
    text.append(contentsOf: "\"}\n".utf8)
    return text
  }

  /// The members of an oversized record that identify the peer and the operation.
  private static func essence(of members: JSONObject) -> JSONObject {
    var essence: JSONObject = ["oversized": true]
    for name in ["event", "outcome", "reason", "method", "uid", "gid", "pid", "connection", "traceId"] {
      guard let value = members[name], value.stringValue.map({ $0.utf8.count <= 256 }) ?? (value.integerValue != nil)
      else { continue }
      essence[name] = value
    }
    return essence
  }

  /// The JSON text of the record, without its hash and the final brace.
  private static func text(_ given: JSONObject, _ sequence: UInt64, _ time: Timestamp, after hash: String) -> [UInt8] {
    var members: JSONObject = ["seq": .integer(Int64(clamping: sequence)), "time": .string(time.rfc3339)]
    for member in given.members where !AuditLine.ownNames.contains(member.name) {
      members[member.name] = member.value
    }
    members["prev"] = .string(hash)
    return JSONWriter().write(.object(members)).dropLast()
  }
}

/// One parsed line of an audit log.
struct AuditLine {
  /// The longest line in bytes, without its line feed.
  static let longest = 1 << 20
  /// The part of it that is reserved for the hash member.
  static let sealLength = 128
  /// The text between a record's other members and its hash.
  static let sealMark = Array(#","hash":""#.utf8)
  /// The members that the chain adds.
  static let ownNames: Set<String> = ["seq", "time", "prev", "hash"]

  /// The record's text up to its `hash` member, over which the hash is computed.
  let text: ArraySlice<UInt8>
  /// The value of `hash`.
  let hash: String
  /// The record's number.
  let sequence: UInt64
  /// The value of `prev`: the hash of the record before.
  let previous: String
  /// The value of `time`: in UTC and of one length, so that comparing texts compares times.
  let time: String
  /// The kind of a record about the log itself; nil for any other record.
  let logEvent: String?

  /// Parses a line without its line feed; nil when it is no record.
  init?(_ line: ArraySlice<UInt8>) {
    guard line.count <= Self.longest, line.suffix(2) == Array("\"}".utf8)[...] else { return nil }
    // The hash is after the last quotation mark but one, and its name before that.
    guard let quote = line.dropLast(2).lastIndex(of: UInt8(ascii: "\"")),
      let digits = String(validating: line[(quote + 1)...].dropLast(2), as: UTF8.self),
      digits.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\\") })
    else { return nil }
    let mark = line[...quote].suffix(Self.sealMark.count)
    let parser = JSONParser(maxBytes: Self.longest, allowsNUL: true)
    guard mark == Self.sealMark[...], let json = try? parser.parse(Array(line)),
      json["hash"]?.stringValue == digits, let number = json["seq"]?.integerValue, number > 0,
      let previous = json["prev"]?.stringValue
    else { return nil }
    text = line[..<mark.startIndex]
    hash = digits
    sequence = UInt64(number)
    self.previous = previous
    time = json["time"]?.stringValue ?? ""
    logEvent = json["event"] == "log" ? json["what"]?.stringValue : nil
  }

  /// The name of the algorithm in the hash.
  var algorithm: Substring { hash.prefix(beforeBytes: ":") }
}
