import Glibc
import PosternJSON
import PosternSupport

/// Opens an audit file and finds out where its chain goes on.
struct AuditFileOpening {
  let path: String
  let seal: AuditSeal
  let clock: any EngineClock
  let report: @Sendable (AuditEvent) -> Void
  /// Whether no other process writes to the log: its lock file is locked.
  var isOurs = false

  /// The file to write to, the chain as far as it is written, and what is to be recorded about the opening.
  struct Opened {
    let file: AuditFile
    let chain: AuditChain
    let records: [AuditRecord]
  }

  /// At the start of the process.
  func open(_ facts: JSONObject) throws(AuditError) -> Opened {
    let file = try AuditFile(path, isOurs: isOurs)
    var records: [AuditRecord] = []
    if let fragment = try takeFragment(of: file) { records.append(fragment) }
    guard file.end > 0 else { return try empty(file, records, facts) }
    if let chain = try chain(at: file) {
      report(.opened(path: path, after: chain.checkpoint))
      return Opened(file: file, chain: chain, records: [.log("started", at: clock.wallNow, facts)] + records)
    }
    // Whatever it is, it stays; and nothing is put behind it that would look as if it followed.
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

  /// A new file in which `chain` goes on.
  func goOn(_ chain: AuditChain, after name: String?) throws(AuditError) -> Opened {
    let file = try AuditFile(path, isOurs: isOurs)
    guard file.end == 0 else { throw AuditError("\(path): is not empty, though a new file was to begin") }
    var details = JSONObject()
    if let name { details["after"] = .string(Self.lastPart(name)) }
    report(.opened(path: path, after: chain.checkpoint))
    return Opened(file: file, chain: chain, records: [.log("continued", at: clock.wallNow, details)])
  }

  /// An empty file: new, or begun after a full one was renamed, by us or by somebody else (logrotate), and nothing was
  /// written since.
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

  /// So much of a time is without a fraction.
  private static let seconds = "2026-01-01T00:00:00".count

  /// Of the files that are named after the log the one that was written to last. A chain that ended, for its key was
  /// exchanged or it was tampered with, may have come further.
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
    // Behind an older file than the last one the chain would go on a second time.
    guard let newest, unreadable.prefix(Self.seconds) <= newest.time.prefix(Self.seconds) else { return nil }
    return (newest.name, newest.chain)
  }

  /// The chain that the file's last line ends; nil when that line is not one of ours.
  private func chain(at file: AuditFile) throws(AuditError) -> AuditChain? {
    try lastLine(of: file).map { AuditChain(seal, after: $0.sequence, hash: $0.hash) }
  }

  /// The file's last line, if it is one of ours.
  private func lastLine(of file: AuditFile) throws(AuditError) -> AuditLine? {
    let tail = try file.tail(atMost: AuditLine.longest + 2).dropLast()
    let start = tail.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? tail.startIndex
    guard let line = AuditLine(tail[start...]), seal.hash(line.text) == line.hash else { return nil }
    return line
  }

  /// Moves half a line at the end of the file, as a crash leaves it, to a file of its own: on disk there before it is
  /// cut off here.
  private func takeFragment(of file: AuditFile) throws(AuditError) -> AuditRecord? {
    let tail = try file.tail(atMost: AuditLine.longest + 1)
    guard let last = tail.last, last != UInt8(ascii: "\n") else { return nil }
    guard let feed = tail.lastIndex(of: UInt8(ascii: "\n")) ?? (tail.count == file.end ? -1 : nil) else { return nil }
    let fragment = Array(tail[(feed + 1)...])
    let digest = AuditSeal.plain.hash(fragment[...])
    // Not a name that `audit.log*` takes in: it is no part of the chain.
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
