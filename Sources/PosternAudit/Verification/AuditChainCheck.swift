/// Holds the lines of a chain against each other, in order. Knows no files.
struct AuditChainCheck {
  private let seal: AuditSeal
  /// The first record's number; nil before it.
  private(set) var first: UInt64?
  /// The last record's number.
  private(set) var last: UInt64 = 0
  /// The last record's hash.
  private(set) var hash = AuditSeal.none
  /// Whether the last record says that the log was closed in order.
  private(set) var isClosed = false

  init(_ seal: AuditSeal) { self.seal = seal }

  /// What is wrong with the next line, which `beginsFile` or does not; nil when it fits.
  mutating func problem(with bytes: ArraySlice<UInt8>, beginsFile: Bool) -> String? {
    guard let line = AuditLine(bytes) else { return "this is no record: the line was changed, or is not the sidecar's" }
    let number = line.sequence
    guard line.algorithm == seal.algorithm else {
      return seal.algorithm == "sha256"
        ? "record \(number) is sealed with \(line.algorithm): give its key with --key-file"
        : "record \(number) is not sealed with the key: it was made without it, or replaced by somebody without it"
    }
    guard seal.hash(line.text) == line.hash else {
      return seal.algorithm == "sha256"
        ? "record \(number) was changed: its hash does not fit its text"
        : "record \(number) was changed, or sealed with another key: its hash does not fit its text"
    }
    if let problem = order(line, beginsFile: beginsFile) { return problem }
    first = first ?? number
    last = number
    hash = line.hash
    isClosed = line.logEvent == "closed"
    return nil
  }

  private func order(_ line: AuditLine, beginsFile: Bool) -> String? {
    let number = line.sequence
    if beginsFile, line.logEvent != "begun", line.logEvent != "continued" {
      return "the file does not begin with its own first record: lines in front of record \(number) were removed"
    }
    if line.logEvent == "begun", number != 1 || line.previous != AuditSeal.none {
      return "record \(number) says that a log begins, but has others before it"
    }
    guard first != nil else {
      guard number > 1 || line.logEvent == "begun" else { return "record 1 does not begin a log" }
      return nil
    }
    if line.logEvent == "begun" { return "another log begins here, which does not follow record \(last)" }
    if number <= last {
      return "record \(number) stands again, or in the wrong place: record \(last + 1) was to follow"
    }
    guard number == last + 1 else {
      let gap = number == last + 2 ? "record \(last + 1) is" : "records \(last + 1) to \(number - 1) are"
      return "\(gap) missing in front of record \(number): removed, or moved elsewhere"
    }
    guard line.previous == hash else {
      return "record \(number) does not follow record \(last): one of them was exchanged for another"
    }
    return nil
  }
}
