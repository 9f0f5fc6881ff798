import PosternObservability
import PosternSupport
import Testing

@Suite("Tampering with a log is found, at the first line that shows it")
struct TamperingTests {
  /// One way of changing a file of 12 lines: `begun`, ten records, `closed`.
  struct Tampering: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let change: @Sendable (inout [String]) -> Void
    let plain: String
    let keyed: String?

    init(
      _ description: String, _ plain: String, keyed: String? = nil,
      _ change: @escaping @Sendable (inout [String]) -> Void
    ) {
      testDescription = description
      self.plain = plain
      self.keyed = keyed
      self.change = change
    }
  }

  static let key = "0123456789abcdef0123456789abcdef"

  static let rows = [
    Tampering(
      "a changed word", "audit.log:5: record 5 was changed: its hash does not match its text",
      keyed: "audit.log:5: record 5 was changed, or sealed with another key: its hash does not match its text"
    ) { $0[4] = $0[4].replacing("permit", with: "denied") },
    Tampering("a changed hash", "audit.log:5: record 5 was changed: its hash does not match its text") {
      let last = $0[4].dropLast(3)
      $0[4] = String(last) + ($0[4].hasSuffix("0\"}") ? "1\"}" : "0\"}")
    },
    Tampering("a space more", "audit.log:3: record 3 was changed: its hash does not match its text") {
      $0[2] = "{ " + $0[2].dropFirst()
    },
    Tampering(
      "a member behind the hash",
      "audit.log:3: this is no record: the line was changed, or was not written by the sidecar"
    ) { $0[2] = $0[2].dropLast() + #","outcome":"permit"}"# },
    Tampering("a line removed", "audit.log:5: record 5 is missing before record 6: removed, or moved elsewhere") {
      $0.remove(at: 4)
    },
    Tampering(
      "lines removed", "audit.log:5: records 5 to 7 are missing before record 8: removed, or moved elsewhere"
    ) { $0.removeSubrange(4..<7) },
    Tampering(
      "the first line removed",
      "audit.log:1: the file does not begin with its own first record: lines before record 2 were removed"
    ) { $0.removeFirst() },
    Tampering(
      "a line of the file's own inserted again",
      "audit.log:9: record 3 is a duplicate or out of order: record 9 was expected"
    ) { $0.insert($0[2], at: 8) },
    Tampering(
      "two lines exchanged", "audit.log:4: record 4 is missing before record 5: removed, or moved elsewhere"
    ) { $0.swapAt(3, 4) },
    Tampering(
      "an invented line", "audit.log:6: this is no record: the line was changed, or was not written by the sidecar"
    ) {
      $0.insert(#"{"seq":6,"event":"decision","outcome":"permit"}"#, at: 5)
    },
    Tampering(
      "an empty line", "audit.log:6: this is no record: the line was changed, or was not written by the sidecar"
    ) {
      $0.insert("", at: 5)
    },
    Tampering(
      "half a line at the end", "audit.log:12: the file ends within this line: it was truncated, or is being written"
    ) { $0[11] = String($0[11].prefix(40)) + "\u{0}" },
  ]

  @Test("each kind of tampering is reported as such", arguments: rows)
  func plain(row: Tampering) async throws {
    let folder = try LogFolder()
    try await folder.write(10)
    #expect(try folder.verify() == nil)
    try Self.apply(row, to: folder)
    #expect(try folder.verify() == row.plain)
  }

  @Test("with a key it is found as well", arguments: rows)
  func keyed(row: Tampering) async throws {
    let folder = try LogFolder()
    try await folder.write(10, key: Self.key)
    #expect(try folder.verify(key: Self.key) == nil)
    try Self.apply(row, to: folder)
    #expect(
      try folder.verify(key: Self.key) == row.keyed
        ?? row.plain.replacing("was changed: its", with: "was changed, or sealed with another key: its"))
  }

  private static func apply(_ row: Tampering, to folder: LogFolder) throws {
    var lines = try folder.lines()
    row.change(&lines)
    let text = lines.joined(separator: "\n") + "\n"
    // The mark of an unfinished line takes the line feed with it.
    try folder.replace(text.contains("\u{0}") ? String(text.prefix { $0 != "\u{0}" }) : text)
  }

  @Test("without a key the whole chain can be forged, with a key no forged record is accepted")
  func forgery() async throws {
    let folder = try LogFolder()
    try await folder.write(3, key: Self.key)
    let forger = try LogFolder()
    try await forger.write(3)
    try folder.replace(forger.lines().joined(separator: "\n") + "\n")
    #expect(try folder.verify() == nil)
    #expect(
      try folder.verify(key: Self.key)
        == "audit.log:1: record 1 is not sealed with the key: it was written, or replaced, without the key"
    )
    try await forger.rewrite(key: "another key of at least 32 bytes!")
    try folder.replace(forger.lines().joined(separator: "\n") + "\n")
    #expect(
      try folder.verify(key: Self.key)
        == "audit.log:1: record 1 was changed, or sealed with another key: its hash does not match its text")
    #expect(
      try folder.verify() == "audit.log:1: record 1 is sealed with hmac-sha256: give its key with --key-file")
  }

  @Test("lines removed at the end are detected when the number of the last record is known")
  func truncation() async throws {
    let folder = try LogFolder()
    try await folder.write(10)
    let lines = try folder.lines()
    try folder.replace(lines.dropLast(3).joined(separator: "\n") + "\n")
    #expect(try folder.verify() == nil)
    #expect(try folder.verify(atLeast: 9) == nil)
    #expect(
      try folder.verify(atLeast: 12) == "audit.log: records 10 to 12 are missing at its end: the file was truncated")
  }

  @Test("an end that was truncated and written again is detected by a noted record")
  func replacement() async throws {
    let folder = try LogFolder()
    try await folder.write(10)
    let noted = try #require(
      folder.events.withLock { events in
        events.compactMap { if case .closed(let last) = $0 { last } else { nil } }.last
      })
    #expect(noted.sequence == 12 && AuditCheckpoint(noted.description) == noted)
    #expect(try folder.verify(containing: [noted]) == nil)
    let lines = try folder.lines()
    try folder.replace(lines.dropLast(3).joined(separator: "\n") + "\n")
    try await folder.write(10)
    #expect(try folder.verify(atLeast: 12) == nil, "a count alone does not show it")
    #expect(
      try folder.verify(containing: [noted])
        == "audit.log:12: record 12 is not the one that was noted: it was written again")
    let beyond = AuditCheckpoint(sequence: 99, hash: noted.hash)
    #expect(
      try folder.verify(containing: [beyond])
        == "audit.log: records 22 to 99 are missing at its end: the file was truncated")
    // A truncated end is also reported when another record is in a file that was not given.
    let later = try LogFolder()
    try await later.write(10, maxBytes: 1024)
    let earliest = AuditCheckpoint(sequence: 1, hash: noted.hash)
    #expect(throws: AuditError.self) { try later.verify(containing: [earliest]) }
    #expect(try later.verify(containing: [earliest, beyond])?.contains("missing at its end") == true)
  }

  @Test(
    "what is no record's number and hash is not read as one",
    arguments: [
      "", "1", "1:", "1:sha256", "0:sha256:", "01:sha256:", "+1:sha256:", "1:md5:", "1:SHA256:", "1:sha256:0:",
    ])
  func checkpoints(text: String) {
    let digits = String(repeating: "0a", count: 32)
    #expect(AuditCheckpoint(text + digits) == nil)
    #expect(AuditCheckpoint("1:sha256:" + digits) != nil && AuditCheckpoint("1:hmac-sha256:" + digits) != nil)
    for wrong in [digits.uppercased(), digits + "0"] { #expect(AuditCheckpoint("1:sha256:" + wrong) == nil) }
  }

  @Test("an empty file is no log")
  func empty() throws {
    let folder = try LogFolder()
    try folder.replace("")
    #expect(try folder.verify() == "audit.log: the file is empty")
  }
}

extension LogFolder {
  /// The same again, from nothing, with a key.
  fileprivate func rewrite(key: String) async throws {
    try replace("")
    try await write(3, key: key)
  }
}
