import PosternSupport

/// The queue of records for the thread that writes them, and that thread.
struct AuditInbox: Sendable {
  /// A record, with the reply to a task that waits: whether it was written.
  struct Item: Sendable {
    let record: AuditRecord
    let receipt: Reply<Bool>?
  }

  /// The work that the thread takes at a time.
  struct Batch {
    var items: [Item] = []
    var isReopening = false
    var isClosing = false

    var isEmpty: Bool { items.isEmpty && !isReopening && !isClosing }
  }

  private struct State {
    var batch = Batch()
    /// The number of records taken by the thread and not written yet.
    var underWay = 0
    var overflow: UInt64 = 0
  }

  private let worker = WorkerThread(State())

  /// Starts the thread, which runs `body`.
  func start(_ body: @escaping @Sendable () -> Void) throws(SystemThread.StartError) {
    try worker.start("postern-audit", body)
  }

  /// The number of records that are queued or being written.
  var count: Int { worker.withInbox { $0.batch.items.count + $0.underWay } }

  /// Queues a record; false when the log is closed, or `limit` records are queued.
  func submit(_ item: Item, limit: Int = .max) -> Bool {
    worker.submit { state in
      guard state.batch.items.count < limit else {
        state.overflow += 1
        return false
      }
      state.batch.items.append(item)
      return true
    } ?? false
  }

  /// The number of records rejected since the last call.
  func takeOverflow() -> UInt64 {
    worker.withInbox { state in
      defer { state.overflow = 0 }
      return state.overflow
    }
  }

  /// Requests that the file be opened again.
  func reopen() { worker.submit { $0.batch.isReopening = true } }

  /// Accepts no further records; the queued ones are written.
  func close() { worker.stop { $0.batch.isClosing = true } }

  /// Waits for work, at most `time` (nil: for ever), and takes it; nothing when the time has passed.
  func next(within time: Duration?) -> Batch {
    worker.next(within: time) { state in
      guard !state.batch.isEmpty else { return nil }
      defer { state.batch = Batch() }
      state.underWay = state.batch.items.count
      return state.batch
    } ?? Batch()
  }

  /// Reports that the batch taken last is written.
  func done() { worker.withInbox { $0.underWay = 0 } }
}
