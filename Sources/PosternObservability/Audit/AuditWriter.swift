import Glibc
import PosternJSON
import PosternSupport

/// The blocking side of the log, which runs on a thread of its own: writes records in order, rotates files, and
/// synchronizes them to the disk.
final class AuditWriter {
  /// The interval at which a file that cannot be written to is tried again.
  private static let retryInterval = Duration.seconds(1)

  /// Why records cannot be written, and how many are lost.
  private struct Losses {
    var failure: String?
    /// The records not written since the last one that was.
    var missing: UInt64 = 0
  }

  /// Records about the opening of the log that are not written yet.
  private struct OpeningNotes {
    /// The members of the first record; nil once the log is open.
    var facts: JSONObject?
    /// Records that come before all others.
    var records: [AuditRecord] = []
  }

  private let settings: AuditLog.Settings
  private let status: AuditStatus
  private var opening: AuditFileOpening
  /// The lock on the log, for as long as it is written to.
  private var lock: LockFile?
  private var file: AuditFile?
  private var chain: AuditChain
  private var schedule: AuditSchedule
  private var losses = Losses()
  private var notes: OpeningNotes
  private var isRotationFailing = false

  private var clock: any EngineClock { opening.clock }

  /// Opens the file and records that. After a transient error, opening is retried later.
  init(
    _ settings: AuditLog.Settings, _ opening: AuditFileOpening, _ status: AuditStatus, facts: JSONObject
  ) throws(AuditError) {
    self.settings = settings
    self.opening = opening
    self.status = status
    notes = OpeningNotes(facts: facts)
    chain = AuditChain(opening.seal)
    schedule = AuditSchedule(at: opening.clock.monotonicNow)
    do throws(AuditError) {
      try usableFile().synchronize()
      schedule.synchronized()
    } catch {
      guard error.isTransient else { throw error }
      failed(error.description, losing: [])
    }
  }

  /// Serves `inbox` until it is closed.
  func serve(_ inbox: AuditInbox) {
    while true {
      let batch = inbox.next(within: patience)
      status.isBusy(true)
      if batch.isReopening { reopen() }
      losses.missing += inbox.takeOverflow()
      append(batch.items)
      inbox.done()
      if batch.isClosing {
        finish()
        return status.isBusy(false)
      }
      synchronizeIfDue()
      if losses.failure == nil, schedule.isCheckpointDue(chain.sequence, at: clock.monotonicNow) {
        publish { .reached($0) }
      }
      status.isBusy(false)
    }
  }

  // MARK: - Records

  private func append(_ items: [AuditInbox.Item]) {
    guard !items.isEmpty || losses.failure != nil || losses.missing > 0 else { return }
    do throws(AuditError) {
      let file = try usableFile()
      try checkForOtherWriters(file)
      let lost = losses.missing
      let note = lost > 0 || losses.failure != nil ? [missingNote(lost)] : []
      try write(note + items.map(\.record))
      losses.missing -= lost
      if losses.failure != nil { opening.report(.recovered(missing: lost)) }
      losses.failure = nil
      status.set(failure: nil, missing: 0, chain)
      for item in items { item.receipt?.fill(true) }
      rotateIfFull()
    } catch {
      failed(error.description, losing: items)
    }
  }

  private func failed(_ description: String, losing items: [AuditInbox.Item]) {
    losses.missing += UInt64(items.count)
    if losses.failure == nil { opening.report(.failing(description)) }
    losses.failure = description
    status.set(failure: description, missing: losses.missing, chain)
    for item in items { item.receipt?.fill(false) }
  }

  private func missingNote(_ count: UInt64) -> AuditRecord {
    .log(
      settings.failClosed ? "refused" : "lost", at: clock.wallNow,
      ["records": .integer(Int64(clamping: count)), "because": .string(losses.failure ?? "too much was waiting")])
  }

  /// Writes all of `records`, or none.
  private func write(_ records: [AuditRecord]) throws(AuditError) {
    guard let file else { throw AuditError("\(settings.path): is not open") }
    var chain = chain
    var lines: [UInt8] = []
    for record in notes.records + records { lines.append(contentsOf: chain.line(record)) }
    try file.append(lines)
    notes.records = []
    self.chain = chain
    schedule.written(at: clock.monotonicNow)
    status.set(failure: losses.failure, missing: losses.missing, chain)
  }

  // MARK: - The file

  /// The file to write to, opened now if it is not open.
  private func usableFile() throws(AuditError) -> AuditFile {
    if let file { return file }
    if lock == nil { try takeLock() }
    if let facts = notes.facts {
      try use(opening.open(facts))
    } else {
      try use(opening.continueChain(chain, after: nil))
    }
    guard let file else { throw AuditError("\(settings.path): is not open") }
    return file
  }

  /// Takes the lock file. The log itself cannot serve as one: every process that may read it could lock it.
  private func takeLock() throws(AuditError) {
    let lock = LockFile(at: AuditFileNames(path: settings.path).lock)
    guard lock.take() else {
      throw AuditError("\(settings.path): another process writes to it", isTransient: true)
    }
    opening.isOurs = lock.isThere
    self.lock = lock
  }

  /// Notices changes of the file by others, reports them, and continues: verification of the chain will show them.
  private func checkForOtherWriters(_ file: AuditFile) throws(AuditError) {
    guard let found = file.found, found.byteCount != file.end || !found.hasName else { return }
    let expected = file.end
    opening.report(.disturbed(expectedBytes: expected, foundBytes: found.hasName ? found.byteCount : 0))
    guard found.hasName else {
      self.file = nil
      return try use(opening.continueChain(chain, after: nil))
    }
    try file.adopt(found.byteCount)
    // The file is empty now: this record is its first.
    guard found.byteCount > 0 else { return try write([.log("continued", at: clock.wallNow)]) }
    try write([
      .log(
        "disturbed", at: clock.wallNow,
        ["expectedBytes": .integer(Int64(expected)), "foundBytes": .integer(Int64(found.byteCount))])
    ])
  }

  private func use(_ opened: AuditFileOpening.Opened) throws(AuditError) {
    file = opened.file
    chain = opened.chain
    notes = OpeningNotes(facts: nil, records: opened.records)
    try write([])
  }

  /// Renames a full file to a numbered name and continues the chain in a new one.
  private func rotateIfFull() {
    guard let full = file, full.end >= settings.maxBytes, full.isInPlace else { return }
    do throws(AuditError) {
      try full.synchronize()
      schedule.synchronized()
      let name = AuditFileNames(path: settings.path).next
      guard rename(settings.path, name) == 0 else { throw AuditFile.failure(name) }
      isRotationFailing = false
      publish { .rotated(to: name, $0) }
      file = nil
      try use(opening.continueChain(chain, after: name))
    } catch {
      // After a failed renaming the file stays in use, and grows, which is reported once. Without a file every further
      // record fails, and is reported.
      guard file == nil || !isRotationFailing else { return }
      isRotationFailing = file != nil
      if file == nil {
        failed(error.description, losing: [])
      } else {
        opening.report(.failing("cannot rotate: \(error.description)"))
      }
    }
  }

  /// Opens a new file when another program has renamed the current one.
  private func reopen() {
    guard let current = file, !current.isInPlace else { return }
    do throws(AuditError) {
      try current.synchronize()
      schedule.synchronized()
      publish { .rotated(to: "by another program", $0) }
      file = nil
      try use(opening.continueChain(chain, after: nil))
    } catch {
      failed(error.description, losing: [])
    }
  }

  // MARK: - The disk

  /// The longest wait for the next batch; nil for ever.
  private var patience: Duration? {
    if losses.failure != nil { return Self.retryInterval }
    guard let due = schedule.nextDue(after: chain.sequence) else { return nil }
    return .milliseconds(max(0, (due - clock.monotonicNow).wholeMilliseconds) + 1)
  }

  private func synchronizeIfDue() {
    guard schedule.isSynchronizationDue(at: clock.monotonicNow) else { return }
    schedule.synchronized()
    synchronize()
  }

  private func synchronize() {
    do throws(AuditError) {
      try file?.synchronize()
    } catch {
      failed(error.description, losing: [])
    }
  }

  private func finish() {
    append([AuditInbox.Item(record: .log("closed", at: clock.wallNow), receipt: nil)])
    synchronize()
    file = nil
    lock = nil
    publish { .closed($0) }
  }

  /// Reports an event with the last record, outside of the file.
  private func publish(_ event: (AuditCheckpoint) -> AuditEvent) {
    guard let checkpoint = chain.checkpoint else { return }
    schedule.published(checkpoint.sequence, at: clock.monotonicNow)
    opening.report(event(checkpoint))
  }
}

/// Decides when written records are synchronized to the disk, and when a checkpoint is published.
struct AuditSchedule {
  /// The longest time for which a written record may be in the system's memory only.
  private static let synchronizationInterval = Duration.seconds(1)
  private static let checkpointInterval = Duration.seconds(300)

  /// The time of the first record that may not be on the disk.
  private var unsynchronizedSince: MonotonicInstant?
  private var published: (sequence: UInt64, at: MonotonicInstant)

  init(at now: MonotonicInstant) { published = (0, now) }

  mutating func written(at now: MonotonicInstant) { unsynchronizedSince = unsynchronizedSince ?? now }

  mutating func synchronized() { unsynchronizedSince = nil }

  mutating func published(_ sequence: UInt64, at now: MonotonicInstant) { published = (sequence, now) }

  func isSynchronizationDue(at now: MonotonicInstant) -> Bool {
    unsynchronizedSince.map { now - $0 >= Self.synchronizationInterval } ?? false
  }

  /// Whether a checkpoint of record `sequence`, the last one, should be published: it must be on the disk.
  func isCheckpointDue(_ sequence: UInt64, at now: MonotonicInstant) -> Bool {
    sequence != published.sequence && unsynchronizedSince == nil && now - published.at >= Self.checkpointInterval
  }

  /// The time of the next synchronization or checkpoint; nil when there is nothing to do.
  func nextDue(after sequence: UInt64) -> MonotonicInstant? {
    if let unsynchronizedSince { return unsynchronizedSince + Self.synchronizationInterval }
    return sequence != published.sequence ? published.at + Self.checkpointInterval : nil
  }
}
