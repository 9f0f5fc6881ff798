import Glibc
import PosternJSON
import PosternObservability
import PosternSupport
import PosternTestSupport
import Testing

@Suite("The audit log continues, whatever happens to its file")
struct WritingTests {
  private static let key = "0123456789abcdef0123456789abcdef"

  @Test("records are in order, numbered, each with the hash of the one before")
  func order() async throws {
    let folder = try LogFolder()
    try await folder.write(3)
    let records = try folder.records()
    #expect(records.map { $0["seq"]?.integerValue } == [1, 2, 3, 4, 5])
    #expect(records.map { $0["what"]?.stringValue } == ["begun", nil, nil, nil, "closed"])
    #expect(records[0]["prev"] == "none")
    for (earlier, later) in zip(records, records.dropFirst()) { #expect(later["prev"] == earlier["hash"]) }
    #expect(records[1]["time"] == "2027-01-15T08:00:00.000Z")
  }

  @Test("a record cannot take the chain's own names, nor break its line", arguments: [nil, key])
  func names(key: String?) async throws {
    let folder = try LogFolder()
    let log = try folder.open(key: key)
    let members: JSONObject = [
      "seq": 7, "hash": "x", "prev": "y", "text": "a\nb\",\"hash\":\"sha256:00\"}", "nul": .string("\u{0}é\u{2028}"),
    ]
    #expect(await log.append(AuditRecord(at: folder.clock.wallNow, members)))
    #expect(
      await log.append(
        AuditRecord(at: folder.clock.wallNow, ["uid": 7, "text": .string(String(repeating: "x", count: 2 << 20))])))
    await log.close()
    #expect(try folder.verify(key: key) == nil)
    #expect(try folder.lines().count == 4)
    let long = try folder.records()[2]
    #expect(long["oversized"] == true && long["uid"] == 7 && long["text"] == nil)
  }

  @Test("the last record is reported every five minutes in which something was written, once it is on the disk")
  func reached() async throws {
    let folder = try LogFolder()
    let log = try folder.open()
    @Sendable func reported() -> [UInt64] {
      folder.events.withLock { $0.compactMap { if case .reached(let last) = $0 { last.sequence } else { nil } } }
    }
    #expect(await log.append(folder.record(0)) && reported().isEmpty)
    folder.clock.advance(by: .seconds(300))
    #expect(await log.append(folder.record(1)))
    // The thread may look at the clock by itself just before the record comes.
    #expect(await eventually { [[2], [3]].contains(reported()) })
    folder.clock.advance(by: .seconds(299))
    #expect(await log.append(folder.record(2)) && reported().count == 1)
    folder.clock.advance(by: .seconds(1))
    #expect(await log.append(folder.record(3)))
    // The record just written is on the disk a second later at the latest, and is reported then.
    folder.clock.advance(by: .seconds(1))
    #expect(await eventually { reported().count == 2 && reported()[1] >= 4 })
    await log.close()
  }

  @Test("a restart continues the chain of the file")
  func restart() async throws {
    let folder = try LogFolder()
    try await folder.write(2)
    try await folder.write(2)
    #expect(
      try folder.records().map { $0["what"]?.stringValue } == [
        "begun", nil, nil, "closed", "started", nil, nil, "closed",
      ])
    #expect(try folder.verify() == nil)
  }

  @Test("full files get numbers, the chain goes over from one to the next, and they verify in any order")
  func rotation() async throws {
    let folder = try LogFolder()
    try await folder.write(40, maxBytes: 4096)
    try await folder.write(40, maxBytes: 4096)
    let names = folder.names
    #expect(names.count > 3 && names.contains("audit.log.000001") && names.contains("audit.log.000002"))
    #expect(try folder.verify(names) == nil)
    #expect(try folder.verify(names.reversed()) == nil)
    #expect(try folder.verify(["audit.log.000002", "audit.log.000003"]) == nil)
    let second = try folder.records("audit.log.000002")
    #expect(second[0]["what"] == "continued" && second[0]["after"] == "audit.log.000001")
    #expect(second[0]["prev"] == (try folder.records("audit.log.000001").last?["hash"]))
    // A file that is missing in the middle, and one whose end was cut off.
    #expect(
      try folder.verify(names.filter { $0 != "audit.log.000002" })?.contains("are missing before record") == true)
    let first = try folder.lines("audit.log.000001")
    try folder.replace(first.dropLast().joined(separator: "\n") + "\n", name: "audit.log.000001")
    #expect(
      try folder.verify(names)
        == "audit.log.000002:1: record \(first.count) is missing before record \(first.count + 1): removed, or moved elsewhere"
    )
  }

  @Test("after an exit between two files, a restart continues the chain of the full one")
  func restartAfterRotation() async throws {
    let folder = try LogFolder()
    try await folder.write(2)
    rename(folder.log, folder.log + ".000001")
    try await folder.write(2)
    #expect(try folder.verify(["audit.log.000001", "audit.log"]) == nil)
    #expect(try folder.records()[0]["what"] == "continued")
  }

  @Test("the chain of a file that was renamed while no process ran is continued, whatever numbers other files have")
  func restartAfterLogrotate() async throws {
    let folder = try LogFolder()
    try await folder.write(40, maxBytes: 4096)
    #expect(folder.names.contains("audit.log.000001"))
    rename(folder.log, folder.log + ".1")
    try folder.replace("a date, not a number\n", name: "audit.log.20261122")
    try folder.replace("more than any number\n", name: "audit.log.9223372036854775807")
    try await folder.write(40, maxBytes: 4096)
    let names = folder.names.filter { $0 != "audit.log.20261122" && $0 != "audit.log.9223372036854775807" }
    #expect(try folder.verify(names) == nil)
    #expect(names.allSatisfy { $0.utf8.count <= "audit.log.000001".utf8.count })
  }

  @Test(
    "the chain written to last is continued, not an older one with higher numbers, nor one in a file that is in use or compressed"
  )
  func newest() async throws {
    let folder = try LogFolder()
    try await folder.write(9)
    try folder.replace(try folder.lines().joined(separator: "\n") + "\nnot a record\n")
    folder.clock.advance(by: .seconds(10))
    try await folder.write(2)
    #expect(folder.names == ["audit.log", "audit.log.000001"])
    rename(folder.log, folder.log + ".1")
    folder.clock.advance(by: .seconds(10))
    try await folder.write(1)
    #expect(try folder.verify(["audit.log.1", "audit.log"]) == nil)
    // In use by another process, which will write to it.
    rename(folder.log, folder.log + ".2")
    let descriptor = Glibc.open(folder.log + ".2", O_RDONLY)
    #expect(flock(descriptor, LOCK_EX | LOCK_NB) == 0)
    let waiting = try folder.open()
    #expect(waiting.condition.failure?.contains("another process writes to it") == true)
    close(descriptor)
    #expect(await waiting.append(folder.record(1)))
    await waiting.close()
    #expect(try folder.verify(["audit.log.1", "audit.log.2", "audit.log"]) == nil)
    // Compressed: what was written last cannot be read.
    rename(folder.log, folder.log + ".3.gz")
    var times = [timespec(tv_sec: 2_000_000_000, tv_nsec: 0), timespec(tv_sec: 2_000_000_000, tv_nsec: 0)]
    utimensat(AT_FDCWD, folder.log + ".3.gz", &times, 0)
    try await folder.write(1)
    #expect(try folder.records()[0]["what"] == "begun")
  }

  @Test("a reader's lock on the log keeps it from being written to")
  func lockedByReader() async throws {
    let folder = try LogFolder()
    try await folder.write(2)
    chmod(folder.log, 0o644)
    let reader = Glibc.open(folder.log, O_RDONLY)
    defer { close(reader) }
    #expect(flock(reader, LOCK_SH | LOCK_NB) == 0)
    let log = try folder.open()
    #expect(log.condition.failure == nil)
    #expect(await log.append(folder.record(1)))
    // Another process that writes is noticed all the same.
    let second = try folder.open()
    #expect(second.condition.failure?.contains("another process writes to it") == true)
    await log.close()
    #expect(await second.append(folder.record(2)))
    await second.close()
    #expect(try folder.verify(["audit.log"]) == nil)
  }

  @Test("an incomplete line that a crash has left is set aside and recorded, never dropped")
  func fragment() async throws {
    let folder = try LogFolder()
    try await folder.write(2)
    let lines = try folder.lines()
    let half = String(lines[3].prefix(50))
    try folder.replace(lines[..<3].joined(separator: "\n") + "\n" + half)
    try await folder.write(1)
    #expect(try folder.verify() == nil)
    let record = try folder.records().first { $0["what"] == "fragment" }
    #expect(record?["file"] == "fragment.audit.log" && record?["bytes"] == 50)
    #expect(try folder.lines("fragment.audit.log") == [half])
    let expected = AuditEvent.fragmentFound(kept: folder.path + "/fragment.audit.log", byteCount: 50)
    #expect(folder.events.withLock { $0.contains(expected) })
    // And again: the first one stays.
    try folder.replace(try folder.lines().joined(separator: "\n") + "\n{")
    try await folder.write(1)
    #expect(folder.names == ["audit.log", "fragment-2.audit.log", "fragment.audit.log"])
    #expect(try folder.verify() == nil)
  }

  @Test(
    "a file sealed with another key is kept under another name, and a new chain starts",
    arguments: [(nil, key), (key, nil), (key, "another key of at least 32 bytes!")] as [(String?, String?)])
  func otherKey(keys: (String?, String?)) async throws {
    let folder = try LogFolder()
    try await folder.write(2, key: keys.0)
    try await folder.write(2, key: keys.1)
    #expect(folder.names == ["audit.log", "audit.log.000001"])
    #expect(try folder.verify(["audit.log.000001"], key: keys.0) == nil)
    #expect(try folder.verify(key: keys.1) == nil)
    #expect(try folder.records()[0]["setAside"] == "audit.log.000001")
  }

  @Test("logrotate: a renamed file is written to until the log is reopened, then the chain continues in the new one")
  func reopen() async throws {
    let folder = try LogFolder()
    let log = try folder.open()
    _ = await log.append(folder.record(1))
    rename(folder.log, folder.log + ".1")
    _ = await log.append(folder.record(2))
    log.reopen()
    _ = await log.append(folder.record(3))
    log.reopen()
    await log.close()
    #expect(try folder.lines("audit.log.1").count == 3)
    #expect(try folder.records().map { $0["what"]?.stringValue } == ["continued", nil, "closed"])
    #expect(try folder.verify(["audit.log", "audit.log.1"]) == nil)
  }

  @Test("changes of the open file by other programs are noticed and recorded")
  func disturbed() async throws {
    let folder = try LogFolder()
    let log = try folder.open()
    _ = await log.append(folder.record(1))
    let lines = try folder.lines()
    let descriptor = Glibc.open(folder.log, O_WRONLY | O_APPEND)
    _ = Glibc.write(descriptor, "garbage", 7)
    close(descriptor)
    _ = await log.append(folder.record(2))
    truncate(folder.log, 0)
    _ = await log.append(folder.record(3))
    unlink(folder.log)
    _ = await log.append(folder.record(4))
    await log.close()
    #expect(lines.count == 2)
    #expect(try folder.records().map { $0["what"]?.stringValue } == ["continued", nil, "closed"])
    #expect(folder.events.withLock { $0.filter { if case .disturbed = $0 { true } else { false } }.count } == 3)
    #expect(try folder.verify(atLeast: 9) == nil)
  }

  @Test("a second process is rejected, and so is a path that is no file of the log")
  func paths() async throws {
    let folder = try LogFolder()
    let log = try folder.open()
    let second = try folder.open()
    #expect(second.condition.failure == "\(folder.log): another process writes to it" && !second.isUsable)
    #expect(await second.append(folder.record(2)) == false)
    await log.close()
    try folder.replace("", name: "target")
    unlink(folder.log)
    symlink("\(folder.path)/target", folder.log)
    #expect(throws: AuditError("\(folder.log): is a symbolic link")) { try folder.open() }
    unlink(folder.log)
    mkfifo(folder.log, 0o600)
    #expect(throws: AuditError("\(folder.log): is not a regular file")) { try folder.open() }
    unlink(folder.log)
    try folder.replace("")
    chmod(folder.log, 0o662)
    #expect(throws: AuditError("\(folder.log): can be written by others: chmod go-w")) { try folder.open() }
    #expect(throws: AuditError("the key has 3 bytes; at least 32 are needed")) { try folder.open(key: "abc") }
  }

  @Test("callers that come all at once are written in order, none of them lost", arguments: [true, false])
  func crowd(failClosed: Bool) async throws {
    let folder = try LogFolder()
    let log = try folder.open(maxBytes: 65_536, failClosed: failClosed)
    await withTaskGroup(of: Void.self) { group in
      for number in 0..<3000 {
        group.addTask { #expect(await log.append(folder.record(number))) }
      }
    }
    await log.close()
    #expect(try folder.verify(folder.names, atLeast: 3001) == nil)
    let ids = try folder.names.flatMap { try folder.records($0) }.compactMap { $0["id"]?.stringValue }
    #expect(Set(ids).count == 3000 && ids.count == 3000)
  }
}
