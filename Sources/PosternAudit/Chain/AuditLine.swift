import PosternJSON
import PosternSupport

/// One line of an audit log, taken apart.
struct AuditLine {
  /// The longest line in bytes, without its line feed.
  static let longest = 1 << 20
  /// What a record's text leaves of that to its hash.
  static let sealRoom = 128
  /// What stands between a record's text and its hash.
  static let sealMark = Array(#","hash":""#.utf8)
  /// The members that the chain gives.
  static let ownNames: Set<String> = ["seq", "time", "prev", "hash"]

  /// The record's text up to its `hash` member: what the hash is of.
  let text: ArraySlice<UInt8>
  /// The hash as it stands there.
  let hash: String
  /// The record's number.
  let sequence: UInt64
  /// The hash of the record before, as it stands there.
  let previous: String
  /// The record's time, as it stands there: in UTC and of one length, so that texts compare as times do.
  let time: String
  /// What kind of record about the log itself it is; nil when it is none.
  let logEvent: String?

  /// A line without its line feed; nil when it is no record.
  init?(_ line: ArraySlice<UInt8>) {
    guard line.count <= Self.longest, line.suffix(2) == Array("\"}".utf8)[...] else { return nil }
    // The hash is behind the last quotation mark but one, and its name in front of that.
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

  /// The part of the hash that says how it was made.
  var algorithm: Substring { hash.prefix(beforeBytes: ":") }
}
