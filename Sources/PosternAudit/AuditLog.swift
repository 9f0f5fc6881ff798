import Glibc
public import PosternJSON
public import PosternSupport

/// An append-only record of decisions in which every line is tied to the one before it by a hash.
///
/// Records are written in order by a thread of their own, which alone waits for the disk.
public final class AuditLog: Sendable {
  /// Where and how records are kept.
  public struct Settings: Sendable {
    /// The file.
    public var path: String
    /// The key that seals records; nil: a hash that everybody can compute.
    public var key: Secret<[UInt8]>?
    /// At what size a file is full.
    public var maxBytes: Int
    /// Whether what cannot be recorded must not happen.
    public var failClosed: Bool

    /// Settings.
    public init(path: String, key: Secret<[UInt8]>?, maxBytes: Int, failClosed: Bool) {
      self.path = path
      self.key = key
      self.maxBytes = maxBytes
      self.failClosed = failClosed
    }
  }

  /// How the log is.
  public struct Condition: Sendable, Hashable {
    /// Why records cannot be written; nil when they can.
    public internal(set) var failure: String?
    /// The last record's number.
    public internal(set) var sequence: UInt64 = 0
    /// Records that were not written, since the start.
    public internal(set) var missingTotal: UInt64 = 0
    /// Those of them that the chain does not say yet.
    var missing: UInt64 = 0
  }

  /// How many records may wait before those who make them have to.
  private static let queueLength = 1024
  /// How many of those may wait whose makers cannot.
  private static let queueLimit = 65_536

  /// How long what waits at the end may take to be written.
  private static let closingTime = Duration.seconds(30)

  /// What cannot be recorded must not happen.
  public let failClosed: Bool
  private let seal: AuditSeal
  private let inbox: AuditInbox
  private let status: AuditStatus
  private let ended = AuditReceipt()
  private let clock: any EngineClock

  /// Opens the log and starts its thread. `facts` stand in its first record; `report` is called on the thread, and must
  /// not block. What passes by itself, such as another process that writes still, is no error: the log fails, and is
  /// opened as soon as it can be.
  public init(
    _ settings: Settings, clock: any EngineClock, facts: JSONObject = JSONObject(),
    report: @escaping @Sendable (AuditEvent) -> Void
  ) throws(AuditError) {
    failClosed = settings.failClosed
    seal = try AuditSeal(key: settings.key)
    inbox = try AuditInbox()
    self.clock = clock
    status = AuditStatus(clock: clock)
    let opening = AuditFileOpening(
      path: settings.path, seal: seal, clock: clock, report: report)
    let writer = try AuditWriter(settings, opening, status, facts: facts)
    // The writer is the thread's alone from here on.
    nonisolated(unsafe) let handedOver = writer
    do throws(SystemThread.StartError) {
      try SystemThread.start("postern-audit") { [inbox, ended] in
        handedOver.serve(inbox)
        ended.fill(true)
      }
    } catch { throw AuditError("no thread for the audit log: \(error)") }
  }

  /// A text's digest under the log's seal: with a key, nobody without it can try out texts.
  public func digest(of text: String) -> String { seal.hash(Array(text.utf8)[...]) }

  /// How it is now.
  public var condition: Condition { status.condition }

  /// Whether what must be recorded may begin now.
  public var isUsable: Bool { !failClosed || status.condition.failure == nil }

  /// Takes a record in. With `failClosed` it returns when the record is written, and false when it could not be, or the
  /// disk has not answered for long; else at once, or, when many wait already, when it is written or given up.
  public func append(_ record: AuditRecord) async -> Bool {
    guard failClosed || inbox.count >= Self.queueLength else {
      return inbox.submit(AuditInbox.Item(record: record, receipt: nil))
    }
    guard failClosed || status.condition.failure == nil else {
      submit(record)
      return true
    }
    let receipt = AuditReceipt()
    guard inbox.submit(AuditInbox.Item(record: record, receipt: receipt), limit: Self.queueLimit) else {
      return !failClosed
    }
    let isWritten = await isFilled(receipt)
    return isWritten || !failClosed
  }

  /// What the receipt says; that it was not done, when nobody fills it for too long.
  private func isFilled(_ receipt: AuditReceipt, within time: Duration = AuditStatus.patience) async -> Bool {
    let clock = clock
    let watch = Task {
      if (try? await clock.sleep(for: time)) != nil { receipt.fill(false) }
    }
    defer { watch.cancel() }
    return await receipt.isWritten()
  }

  /// Takes a record in for which nobody can wait. Beyond a great many it is counted as lost.
  public func submit(_ record: AuditRecord) {
    _ = inbox.submit(AuditInbox.Item(record: record, receipt: nil), limit: Self.queueLimit)
  }

  /// Opens the file anew where somebody has renamed it.
  public func reopen() { inbox.reopen() }

  /// Writes what waits and a last record, and returns when it is on the disk, or the disk has not answered for long.
  public func close() async {
    inbox.close()
    _ = await isFilled(ended, within: Self.closingTime)
  }
}
