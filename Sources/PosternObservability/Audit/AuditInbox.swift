import Glibc
import PosternSupport

/// The queue of records for the thread that writes them.
final class AuditInbox: @unchecked Sendable {
  // Sendable because the pipe's descriptors are set once and only used in system calls.
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
  }

  private struct State {
    var batch = Batch()
    /// The number of records taken by the thread and not written yet.
    var underWay = 0
    var isClosed = false
    var isSignalled = false
    var overflow: UInt64 = 0
  }

  private let state = Locked(State())
  private let ends: (read: Int32, write: Int32)

  init() throws(AuditError) {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { throw AuditFile.failure("pipe") }
    // Non-blocking: if the pipe is full, the thread is about to read it anyway.
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) | fcntl(end, F_SETFL, O_NONBLOCK) }
    self.ends = (ends[0], ends[1])
  }

  deinit {
    Glibc.close(ends.read)
    Glibc.close(ends.write)
  }

  /// The number of records that are queued or being written.
  var count: Int { state.withLock { $0.batch.items.count + $0.underWay } }

  /// Queues a record; false when the log is closed, or `limit` records are queued.
  func submit(_ item: Item, limit: Int = .max) -> Bool {
    let (isTaken, mustWake) = state.withLock { state -> (Bool, Bool) in
      guard !state.isClosed else { return (false, false) }
      guard state.batch.items.count < limit else {
        state.overflow += 1
        return (false, false)
      }
      state.batch.items.append(item)
      return (true, Self.signal(&state))
    }
    if mustWake { wake() }
    return isTaken
  }

  /// The number of records rejected since the last call.
  func takeOverflow() -> UInt64 {
    state.withLock { state in
      defer { state.overflow = 0 }
      return state.overflow
    }
  }

  /// Requests that the file be opened again.
  func reopen() {
    let mustWake = state.withLock { state in
      state.batch.isReopening = true
      return Self.signal(&state)
    }
    if mustWake { wake() }
  }

  /// Accepts no further records; the queued ones are written.
  func close() {
    let mustWake = state.withLock { state in
      state.isClosed = true
      state.batch.isClosing = true
      return Self.signal(&state)
    }
    if mustWake { wake() }
  }

  /// Waits for work, at most `milliseconds` (-1: for ever), and takes it.
  func next(within milliseconds: Int32) -> Batch {
    var waiting = pollfd(fd: ends.read, events: Int16(POLLIN), revents: 0)
    _ = poll(&waiting, 1, milliseconds)
    var bytes = [UInt8](repeating: 0, count: 16)
    while read(ends.read, &bytes, bytes.count) > 0 {}
    return state.withLock { state in
      defer { state.batch = Batch() }
      state.isSignalled = false
      state.underWay = state.batch.items.count
      return state.batch
    }
  }

  /// Reports that the batch taken last is written.
  func done() { state.withLock { $0.underWay = 0 } }

  private static func signal(_ state: inout State) -> Bool {
    defer { state.isSignalled = true }
    return !state.isSignalled
  }

  private func wake() {
    var byte: UInt8 = 1
    _ = write(ends.write, &byte, 1)
  }
}
