import Glibc
import PosternJSON
import PosternSupport

/// The side of the log that blocks: writes records in order, rotates, brings them to the disk. Runs on a thread of its
/// own.
final class AuditWriter {
  /// How long a written record may be in the system's memory only.
  private static let syncInterval = Duration.seconds(1)
  /// How often a file that cannot be written to is tried when nobody asks.
  private static let retryInterval = Duration.seconds(1)
  /// How often it is told how far the chain has come.
  private static let checkpointInterval = Duration.seconds(300)

  private let settings: AuditLog.Settings
  private var opening: AuditFileOpening
  /// Held as long as the log is written to.
  private var lock: LockFile?
  private let status: AuditStatus
  private let report: @Sendable (AuditEvent) -> Void
  private var clock: any EngineClock { opening.clock }
  private var file: AuditFile?
  private var chain: AuditChain
  /// Since when there is something that is not on the disk for sure.
  private var unsyncedSince: MonotonicInstant?
  /// The last record that was told outside of the file, and when that was.
  private var told: (sequence: UInt64, at: MonotonicInstant)
  /// Records that were not written since the file cannot be written to.
  private var missing: UInt64 = 0
  private var failure: String?
  private var isRotationRefused = false
  /// What is to stand in the first record; nil when the log is open.
  private var facts: JSONObject?
  /// What is to be recorded of the opening, in front of everything else.
  private var pending: [AuditRecord] = []

  /// Opens the file, and records that; what passes is tried again.
  init(
    _ settings: AuditLog.Settings, _ opening: AuditFileOpening, _ status: AuditStatus, facts: JSONObject
  ) throws(AuditError) {
    self.settings = settings
    self.opening = opening
    self.status = status
    self.facts = facts
    report = opening.report
    chain = AuditChain(opening.seal)
    told = (0, opening.clock.monotonicNow)
    do throws(AuditError) {
      try usableFile().synchronize()
      unsyncedSince = nil
    } catch {
      guard error.isPassing else { throw error }
      failed(error.description, losing: [])
    }
  }

  /// Serves `inbox` until it is closed.
  func serve(_ inbox: AuditInbox) {
    while true {
      let batch = inbox.next(within: patience)
      status.isBusy(true)
      if batch.isReopening { reopen() }
      missing += inbox.takeOverflow()
      append(batch.items)
      inbox.done()
      if batch.isClosing {
        end()
        return status.isBusy(false)
      }
      synchronizeIfDue()
      tellIfDue()
      status.isBusy(false)
    }
  }

  // MARK: - Records

  private func append(_ items: [AuditInbox.Item]) {
    guard !items.isEmpty || failure != nil || missing > 0 else { return }
    do throws(AuditError) {
      let file = try usableFile()
      try mend(file)
      let lost = missing
      let note = lost > 0 || failure != nil ? [missingNote(lost)] : []
      try write(note + items.map(\.record))
      missing -= lost
      if failure != nil { report(.recovered(missing: lost)) }
      failure = nil
      status.set(failure: nil, missing: 0, chain)
      for item in items { item.receipt?.fill(true) }
      rotateIfFull()
    } catch {
      failed(error.description, losing: items)
    }
  }

  private func failed(_ description: String, losing items: [AuditInbox.Item]) {
    missing += UInt64(items.count)
    if failure == nil { report(.failing(description)) }
    failure = description
    status.set(failure: description, missing: missing, chain)
    for item in items { item.receipt?.fill(false) }
  }

  private func missingNote(_ count: UInt64) -> AuditRecord {
    .log(
      settings.failClosed ? "refused" : "lost", at: clock.wallNow,
      ["records": .integer(Int64(clamping: count)), "because": .string(failure ?? "too much was waiting")])
  }

  /// Writes all of `records`, or none.
  private func write(_ records: [AuditRecord]) throws(AuditError) {
    guard let file else { throw AuditError("\(settings.path): is not open") }
    var chain = chain
    var lines: [UInt8] = []
    for record in pending + records { lines.append(contentsOf: chain.line(record)) }
    try file.append(lines)
    pending = []
    self.chain = chain
    unsyncedSince = unsyncedSince ?? clock.monotonicNow
    status.set(failure: failure, missing: missing, chain)
  }

  // MARK: - The file

  /// The file to write to: opened again where that has failed before.
  private func usableFile() throws(AuditError) -> AuditFile {
    if let file { return file }
    if lock == nil { try takeLock() }
    if let facts { try takeUp(opening.open(facts)) } else { try takeUp(opening.goOn(chain, after: nil)) }
    guard let file else { throw AuditError("\(settings.path): is not open") }
    return file
  }

  /// A lock on the log itself can be held by whoever may read it.
  private func takeLock() throws(AuditError) {
    let lock = LockFile(at: AuditFileNames(path: settings.path).lock)
    guard lock.take() else {
      throw AuditError("\(settings.path): another process writes to it", isPassing: true)
    }
    opening.isOurs = lock.isThere
    self.lock = lock
  }

  /// Notices what somebody else has done to the file meanwhile, and goes on all the same: the chain shows it.
  private func mend(_ file: AuditFile) throws(AuditError) {
    guard let found = file.found, found.byteCount != file.end || !found.hasName else { return }
    let expected = file.end
    report(.disturbed(expectedBytes: expected, foundBytes: found.hasName ? found.byteCount : 0))
    guard found.hasName else {
      self.file = nil
      return try takeUp(opening.goOn(chain, after: nil))
    }
    try file.adopt(found.byteCount)
    // Emptied: what is there now begins a file.
    guard found.byteCount > 0 else { return try write([.log("continued", at: clock.wallNow)]) }
    try write([
      .log(
        "disturbed", at: clock.wallNow,
        ["expectedBytes": .integer(Int64(expected)), "foundBytes": .integer(Int64(found.byteCount))])
    ])
  }

  private func takeUp(_ opened: AuditFileOpening.Opened) throws(AuditError) {
    file = opened.file
    chain = opened.chain
    pending = opened.records
    facts = nil
    try write([])
  }

  /// A full file gets a number, and a new one begins with the hash of its last record.
  private func rotateIfFull() {
    guard let full = file, full.end >= settings.maxBytes, full.isInPlace else { return }
    do throws(AuditError) {
      try full.synchronize()
      unsyncedSince = nil
      let name = AuditFileNames(path: settings.path).next
      guard rename(settings.path, name) == 0 else { throw AuditFile.failure(name) }
      isRotationRefused = false
      tell { .rotated(to: name, $0) }
      file = nil
      try takeUp(opening.goOn(chain, after: name))
    } catch {
      // Of a refused renaming the file stays in use, and grows; without any file every record from here on fails, and
      // says so.
      guard file == nil || !isRotationRefused else { return }
      isRotationRefused = file != nil
      file == nil ? failed(error.description, losing: []) : report(.failing("cannot rotate: \(error.description)"))
    }
  }

  /// Opens `path` anew where somebody has renamed the file.
  private func reopen() {
    guard let current = file, !current.isInPlace else { return }
    do throws(AuditError) {
      try current.synchronize()
      unsyncedSince = nil
      tell { .rotated(to: "by another's hand", $0) }
      file = nil
      try takeUp(opening.goOn(chain, after: nil))
    } catch {
      failed(error.description, losing: [])
    }
  }

  // MARK: - The disk

  private var patience: Int32 {
    if failure != nil { return Int32(Self.retryInterval.wholeMilliseconds) }
    let due: MonotonicInstant
    if let since = unsyncedSince {
      due = since + Self.syncInterval
    } else if chain.sequence != told.sequence {
      due = told.at + Self.checkpointInterval
    } else {
      return -1
    }
    let left = due - clock.monotonicNow
    return Int32(clamping: max(0, left.wholeMilliseconds) + 1)
  }

  private func synchronizeIfDue() {
    guard let since = unsyncedSince, clock.monotonicNow - since >= Self.syncInterval else { return }
    unsyncedSince = nil
    do throws(AuditError) {
      try file?.synchronize()
    } catch {
      failed(error.description, losing: [])
    }
  }

  private func end() {
    append([AuditInbox.Item(record: .log("closed", at: clock.wallNow), receipt: nil)])
    do throws(AuditError) {
      try file?.synchronize()
    } catch {
      failed(error.description, losing: [])
    }
    file = nil
    lock = nil
    tell { .closed($0) }
  }

  /// What was written since the last time is told, now and then, when it is on the disk.
  private func tellIfDue() {
    guard chain.sequence != told.sequence, unsyncedSince == nil, failure == nil,
      clock.monotonicNow - told.at >= Self.checkpointInterval
    else { return }
    tell { .reached($0) }
  }

  private func tell(_ event: (AuditCheckpoint) -> AuditEvent) {
    guard let checkpoint = chain.checkpoint else { return }
    told = (checkpoint.sequence, clock.monotonicNow)
    report(event(checkpoint))
  }
}
