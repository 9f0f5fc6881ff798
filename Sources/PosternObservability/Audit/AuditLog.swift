import Glibc
public import PosternJSON
public import PosternSupport

/// An append-only log in which every line contains a hash of the one before it.
///
/// A thread of its own writes the records in order, and alone waits for the disk.
public final class AuditLog: Sendable {
  /// The settings of an audit log.
  public struct Settings: Sendable {
    /// The path of the file.
    public var path: String
    /// The key that seals records; nil: a plain hash.
    public var key: Secret<[UInt8]>?
    /// The size from which on a file is full.
    public var maxBytes: Int
    /// Whether operations that cannot be recorded must not run.
    public var failClosed: Bool

    /// Settings.
    public init(path: String, key: Secret<[UInt8]>?, maxBytes: Int, failClosed: Bool) {
      self.path = path
      self.key = key
      self.maxBytes = maxBytes
      self.failClosed = failClosed
    }
  }

  /// The condition of the log.
  public struct Condition: Sendable, Hashable {
    /// Why records cannot be written; nil when they can.
    public internal(set) var failure: String?
    /// The last record's number.
    public internal(set) var sequence: UInt64 = 0
    /// The number of records lost since the start.
    public internal(set) var missingTotal: UInt64 = 0
    /// The lost records that are not noted in the chain yet.
    var missing: UInt64 = 0
  }

  /// The number of queued records from which on `append` waits.
  private static let queueLength = 1024
  /// The number of queued records from which on further ones are lost.
  private static let queueLimit = 65_536

  /// The timeout for writing the queued records when the log is closed.
  private static let closingTime = Duration.seconds(30)

  /// Whether operations that cannot be recorded must not run.
  public let failClosed: Bool
  private let seal: AuditSeal
  private let inbox = AuditInbox()
  private let status: AuditStatus
  private let ended = Reply<Bool>()
  private let clock: any EngineClock

  /// Opens the log and starts its thread. `facts` are members of its first record; `report` is called on the thread,
  /// and must not block. A transient fault, such as another process that is still writing, does not throw: the log
  /// starts failing, and is opened as soon as possible.
  public init(
    _ settings: Settings, clock: any EngineClock, facts: JSONObject = JSONObject(),
    report: @escaping @Sendable (AuditEvent) -> Void
  ) throws(AuditError) {
    failClosed = settings.failClosed
    seal = try AuditSeal(key: settings.key)
    self.clock = clock
    status = AuditStatus(clock: clock)
    let opening = AuditFileOpening(
      path: settings.path, seal: seal, clock: clock, report: report)
    let writer = try AuditWriter(settings, opening, status, facts: facts)
    // The writer is the thread's alone from here on.
    nonisolated(unsafe) let handedOver = writer
    do throws(SystemThread.StartError) {
      try inbox.start { [inbox, ended] in
        handedOver.serve(inbox)
        ended.fill(true)
      }
    } catch { throw AuditError("no thread for the audit log: \(error)") }
  }

  /// The digest of `text` under the log's seal; with a key it cannot be found by trying texts.
  public func digest(of text: String) -> String { seal.hash(Array(text.utf8)[...]) }

  /// The current condition.
  public var condition: Condition { status.condition }

  /// Whether operations that must be recorded may start now.
  public var isUsable: Bool { !failClosed || status.condition.failure == nil }

  /// Queues a record. With `failClosed` it returns when the record is written, and returns false when writing failed or
  /// the disk did not respond for long. Without it, it returns at once, or, when the queue is long, when the record is
  /// written or lost.
  public func append(_ record: AuditRecord) async -> Bool {
    guard failClosed || inbox.count >= Self.queueLength else {
      return inbox.submit(AuditInbox.Item(record: record, receipt: nil))
    }
    guard failClosed || status.condition.failure == nil else {
      submit(record)
      return true
    }
    let receipt = Reply<Bool>()
    guard inbox.submit(AuditInbox.Item(record: record, receipt: receipt), limit: Self.queueLimit) else {
      return !failClosed
    }
    let isWritten = await isFilled(receipt)
    return isWritten || !failClosed
  }

  /// Waits for the receipt; false after `time`.
  private func isFilled(_ receipt: Reply<Bool>, within time: Duration = AuditStatus.patience) async -> Bool {
    let clock = clock
    let watch = Task {
      if (try? await clock.sleep(for: time)) != nil { receipt.fill(false) }
    }
    defer { watch.cancel() }
    return await receipt.value()
  }

  /// Queues a record without waiting. When the queue is full, the record is counted as lost.
  public func submit(_ record: AuditRecord) {
    _ = inbox.submit(AuditInbox.Item(record: record, receipt: nil), limit: Self.queueLimit)
  }

  /// Opens a new file when another program has renamed the current one.
  public func reopen() { inbox.reopen() }

  /// Writes the queued records and a last one, and returns when they are on the disk, or the disk has not responded for
  /// long.
  public func close() async {
    inbox.close()
    _ = await isFilled(ended, within: Self.closingTime)
  }
}

/// The condition of the log, as reported by its writer.
final class AuditStatus: Sendable {
  /// The longest time for one operation of the disk.
  static let patience = Duration.seconds(5)

  private struct State {
    var condition = AuditLog.Condition()
    /// The time since which the writer has been waiting for the disk.
    var busySince: MonotonicInstant?
  }

  private let state = Locked(State())
  private let clock: any EngineClock

  init(clock: any EngineClock) { self.clock = clock }

  /// The condition reported last, or a failure when the writer has been waiting for the disk for too long.
  var condition: AuditLog.Condition {
    let now = clock.monotonicNow
    return state.withLock { state in
      var condition = state.condition
      if let since = state.busySince, now - since >= Self.patience, condition.failure == nil {
        condition.failure = "the disk has not answered for \((now - since).wholeMilliseconds / 1000) s"
      }
      return condition
    }
  }

  /// Reports that the writer starts or has finished an operation that waits for the disk.
  func isBusy(_ isBusy: Bool) {
    let now = clock.monotonicNow
    state.withLock { $0.busySince = isBusy ? now : nil }
  }

  func set(failure: String?, missing: UInt64, _ chain: AuditChain) {
    state.withLock { state in
      // The total includes records whose loss is noted in the chain.
      if missing > state.condition.missing { state.condition.missingTotal += missing - state.condition.missing }
      state.condition.missing = missing
      state.condition.failure = failure
      state.condition.sequence = chain.sequence
    }
  }
}
