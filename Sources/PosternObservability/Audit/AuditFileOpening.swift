import Glibc
import PosternJSON
import PosternSupport

/// Opens an audit file and determines the state of its chain.
struct AuditFileOpening {
  let path: String
  let seal: AuditSeal
  let clock: any EngineClock
  let report: @Sendable (AuditEvent) -> Void
  /// Whether this process has the lock file, so that no other one writes to the log.
  var isOurs = false

  /// The file to write to, the state of its chain, and the records about the opening that are to be written.
  struct Opened {
    let file: AuditFile
    let chain: AuditChain
    let records: [AuditRecord]
  }

  /// Opens the log at the start of the process.
  func open(_ facts: JSONObject) throws(AuditError) -> Opened {
    let file = try AuditFile(path, isOurs: isOurs)
    var records: [AuditRecord] = []
    if let fragment = try takeFragment(of: file) { records.append(fragment) }
    guard file.end > 0 else { return try empty(file, records, facts) }
    if let chain = try chain(at: file) {
      report(.opened(path: path, after: chain.checkpoint))
      return Opened(file: file, chain: chain, records: [.log("started", at: clock.wallNow, facts)] + records)
    }
    // The file is kept, and nothing is appended that would seem to continue its chain.
    let name = AuditFileNames(path: path).next
    guard rename(path, name) == 0 else { throw AuditFile.failure(name) }
    let reason = "its last record is not sealed with the configured key, or was changed"
    report(.setAside(as: name, because: reason))
    var details = facts
    details["setAside"] = .string(Self.lastPart(name))
    details["because"] = .string(reason)
    report(.opened(path: path, after: nil))
    return Opened(
      file: try AuditFile(path, isOurs: isOurs), chain: AuditChain(seal),
      records: [.log("begun", at: clock.wallNow, details)] + records)
  }

  /// Opens a new file that continues `chain`.
  func continueChain(_ chain: AuditChain, after name: String?) throws(AuditError) -> Opened {
    let file = try AuditFile(path, isOurs: isOurs)
    guard file.end == 0 else { throw AuditError("\(path): is not empty, though a new file was expected") }
    var details = JSONObject()
    if let name { details["after"] = .string(Self.lastPart(name)) }
    report(.opened(path: path, after: chain.checkpoint))
    return Opened(file: file, chain: chain, records: [.log("continued", at: clock.wallNow, details)])
  }

  /// Continues with an empty file: a new one, or one created after a full one was renamed, by this program or another
  /// (logrotate).
  private func empty(_ file: AuditFile, _ records: [AuditRecord], _ facts: JSONObject) throws(AuditError) -> Opened {
    if let (name, chain) = try newest() {
      report(.opened(path: path, after: chain.checkpoint))
      var details = facts
      details["after"] = .string(Self.lastPart(name))
      return Opened(
        file: file, chain: chain, records: [.log("continued", at: clock.wallNow, details)] + records)
    }
    report(.opened(path: path, after: nil))
    return Opened(
      file: file, chain: AuditChain(seal), records: [.log("begun", at: clock.wallNow, facts)] + records)
  }

  /// The length of a time without its fraction.
  private static let seconds = "2026-01-01T00:00:00".count

  /// The file written to last, of those named after the log, with its chain. The one with the highest number may be
  /// another: a chain that ended because its key was replaced, or that was tampered with.
  private func newest() throws(AuditError) -> (name: String, chain: AuditChain)? {
    var newest: (name: String, chain: AuditChain, time: String)?
    var unreadable = ""
    for name in AuditFileNames(path: path).others {
      guard let file = try AuditFile(existing: name, isOurs: isOurs) else {
        unreadable = max(unreadable, AuditFile.changeTime(of: name) ?? "")
        continue
      }
      guard let line = try lastLine(of: file) else { continue }
      if let newest, (newest.time, newest.chain.sequence) >= (line.time, line.sequence) { continue }
      newest = (name, AuditChain(seal, after: line.sequence, hash: line.hash), line.time)
    }
    // After a file that is not the last one, the chain would be continued a second time.
    guard let newest, unreadable.prefix(Self.seconds) <= newest.time.prefix(Self.seconds) else { return nil }
    return (newest.name, newest.chain)
  }

  /// The chain up to the file's last line; nil when that line has no valid seal.
  private func chain(at file: AuditFile) throws(AuditError) -> AuditChain? {
    try lastLine(of: file).map { AuditChain(seal, after: $0.sequence, hash: $0.hash) }
  }

  /// The file's last line, if its seal is valid.
  private func lastLine(of file: AuditFile) throws(AuditError) -> AuditLine? {
    let tail = try file.tail(atMost: AuditLine.longest + 2).dropLast()
    let start = tail.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? tail.startIndex
    guard let line = AuditLine(tail[start...]), seal.hash(line.text) == line.hash else { return nil }
    return line
  }

  /// Moves an incomplete line at the end of the file, as a crash leaves it, to a file of its own; it is on the disk
  /// there before it is removed here.
  private func takeFragment(of file: AuditFile) throws(AuditError) -> AuditRecord? {
    let tail = try file.tail(atMost: AuditLine.longest + 1)
    guard let last = tail.last, last != UInt8(ascii: "\n") else { return nil }
    guard let feed = tail.lastIndex(of: UInt8(ascii: "\n")) ?? (tail.count == file.end ? -1 : nil) else { return nil }
    let fragment = Array(tail[(feed + 1)...])
    let digest = AuditSeal.plain.hash(fragment[...])
    // The name must not match `audit.log*`, because the file is no part of the chain.
    let folder = path.dropLast(Self.lastPart(path).count)
    var name = "\(folder)fragment.\(Self.lastPart(path))"
    var number = 1
    while access(name, F_OK) == 0 {
      number += 1
      name = "\(folder)fragment-\(number).\(Self.lastPart(path))"
    }
    let aside = try AuditFile(name, isOurs: isOurs)
    try aside.append(fragment)
    try aside.synchronize()
    try file.cut(to: file.end - fragment.count)
    report(.fragmentFound(kept: name, byteCount: fragment.count))
    return .log(
      "fragment", at: clock.wallNow,
      [
        "file": .string(Self.lastPart(name)), "bytes": .integer(Int64(fragment.count)), "digest": .string(digest),
      ])
  }

  private static func lastPart(_ path: String) -> String {
    path.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(path[path.index(after: $0)...]) } ?? path
  }
}

/// The names of the log's files: full ones have a number appended, the newest the highest.
struct AuditFileNames {
  let path: String

  /// The first free name after all others.
  var next: String {
    var number = highest + 1
    while access(name(number), F_OK) == 0 { number += 1 }
    return name(number)
  }

  /// The name of the lock file, which only one process that writes to the log can lock.
  var lock: String {
    guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return ".\(path).lock" }
    return "\(path[...slash]).\(path[path.index(after: slash)...]).lock"
  }

  private func name(_ number: Int) -> String {
    let digits = String(number)
    return "\(path).\(String(repeating: "0", count: max(0, 6 - digits.utf8.count)))\(digits)"
  }

  /// The highest number in use; 0 when there is none. Longer numbers, such as dates, come from other programs.
  private var highest: Int {
    others.lazy.map { $0.utf8.dropFirst(path.utf8.count + 1) }.filter { digits in
      (6...7).contains(digits.count) && digits.allSatisfy { (0x30...0x39).contains($0) }
    }.compactMap { Int(String(decoding: $0, as: UTF8.self)) }.max() ?? 0
  }

  /// The paths of all files in the same directory whose names begin with that of the log.
  var others: [String] {
    let slash = path.utf8.lastIndex(of: UInt8(ascii: "/"))
    let folder = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
    let prefix = (slash.map { String(path[path.index(after: $0)...]) } ?? path) + "."
    guard let directory = opendir(folder) else { return [] }
    defer { closedir(directory) }
    var others: [String] = []
    while let entry = readdir(directory) {
      let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
        String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      if name.hasPrefix(prefix) { others.append("\(path).\(name.dropFirst(prefix.count))") }
    }
    return others
  }
}
