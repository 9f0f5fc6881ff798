import PosternSupport

/// The messages that wait to be written on one connection, and whether more may be sent: the state that all threads
/// share, behind the connection's lock. Methods return what the caller does after releasing it.
struct Outbox {
  /// The phase of the connection, as far as sending is concerned.
  enum Phase: Hashable {
    case open
    /// Nothing new is taken; what is here still goes out.
    case closing
    case closed
  }

  /// The outcome of a send.
  enum Outcome: Hashable {
    /// Taken; someone is already going to write it.
    case queued
    /// Taken; the caller has the event loop drain the outbox.
    case drainNeeded
    /// Not taken: the connection is closing or closed.
    case dropped
    /// Not taken, and the connection has to go: its peer reads too slowly for what is sent.
    case overflow
  }

  /// The messages that were not given to the socket yet.
  private(set) var messages = OutboundMessages()
  /// The tasks that wait until the peer keeps up.
  private(set) var waiters = CapacityWaiters()
  /// Whether the event loop is going to drain: the rest of a batch, or a task on its way.
  var isDrainOwed = false
  /// The state of the socket's backlog at the latest report.
  var backlog = BacklogState()
  private(set) var phase = Phase.open
  private let pendingLimit: Int
  private let highWaterMark: Int
  /// The unread bytes of the uid as a whole; nil: not counted.
  private let unread: ByteLedger?
  /// How much of `pendingBytes` the ledger knows of.
  private var reportedBytes = 0

  /// An outbox that takes nothing more once over `pendingLimit` bytes wait.
  init(pendingLimit: Int, highWaterMark: Int, unread: ByteLedger? = nil) {
    self.unread = unread
    self.pendingLimit = pendingLimit
    self.highWaterMark = highWaterMark
  }

  /// The framing that messages go out in.
  var framing: Framing {
    get { messages.framing }
    set { messages.framing = newValue }
  }

  /// Bytes waiting, here and in the socket's backlog.
  var pendingBytes: Int { messages.byteCount + backlog.bytes }

  /// Whether a sender that can wait should go on.
  var isWritable: Bool {
    guard phase == .open, backlog.isWritable, messages.byteCount < highWaterMark else { return false }
    return pendingBytes == 0 || unread?.isStrained != true
  }

  /// Frames `message` and takes it.
  mutating func append(_ message: UnsafeRawBufferPointer) -> Outcome {
    guard phase == .open else { return .dropped }
    guard pendingBytes <= pendingLimit, messages.append(message) else { return .overflow }
    return oweDrain() ? .drainNeeded : .queued
  }

  /// Takes bytes as they are, in a frame with more header fields.
  mutating func append(_ bytes: UnsafeRawBufferPointer, fields: String) -> Outcome {
    guard phase == .open else { return .dropped }
    guard pendingBytes <= pendingLimit, messages.append(bytes, fields: fields) else { return .overflow }
    return oweDrain() ? .drainNeeded : .queued
  }

  /// Takes a message that was framed before, by `OutboundMessages`, and the descriptors that go with it.
  mutating func append(_ message: [ByteBuffer], passing: OutboundPiece.Passing? = nil) -> Outcome {
    guard phase == .open else { return .dropped }
    guard pendingBytes <= pendingLimit, messages.append(message, passing: passing) else { return .overflow }
    return oweDrain() ? .drainNeeded : .queued
  }

  /// Hands over what waits: the pieces, and behind them what is in `taken` afterwards. What was in it is used again.
  mutating func take(_ taken: inout ByteBuffer) -> [OutboundPiece] {
    isDrainOwed = false
    return messages.take(&taken)
  }

  /// The change for the ledger of the uid; 0 while its count is nearly right, so that small answers cost no look at
  /// what all connections of the uid share.
  mutating func takeUnreported() -> Int {
    let change = pendingBytes - reportedBytes
    guard abs(change) >= ByteLedger.grain || pendingBytes == 0 && change != 0 else { return 0 }
    reportedBytes += change
    return change
  }

  /// Notes that the event loop has to drain; false when it is going to anyway.
  mutating func oweDrain() -> Bool {
    guard !isDrainOwed else { return false }
    isDrainOwed = true
    return true
  }

  /// Takes nothing more from now on; false when that was so already.
  mutating func beginClosing() -> Bool {
    guard phase == .open else { return false }
    phase = .closing
    return true
  }

  /// The socket is closed: forgets everything and hands over the waiters, to be resumed with false.
  mutating func close() -> [CheckedContinuation<Bool, Never>] {
    phase = .closed
    messages.removeAll()
    backlog.bytes = 0
    reportedBytes = 0
    return waiters.takeAll()
  }

  /// A number for a waiter to be known by.
  mutating func makeTicket() -> Int { waiters.makeTicket() }

  /// Adds a waiter, or returns at once whether there is capacity (nil: wait).
  mutating func wait(_ ticket: Int, _ continuation: CheckedContinuation<Bool, Never>) -> Bool? {
    guard phase == .open else { return false }
    guard !isWritable else { return true }
    waiters.add(ticket, continuation)
    return nil
  }

  /// Takes one waiter back.
  mutating func removeWaiter(_ ticket: Int) -> CheckedContinuation<Bool, Never>? { waiters.remove(ticket) }

  /// The waiters to be resumed with true, when there is capacity.
  mutating func takeWaitersIfWritable() -> [CheckedContinuation<Bool, Never>] { isWritable ? waiters.takeAll() : [] }

  /// The waiters to be resumed with false, when nothing more can be sent.
  mutating func takeWaitersIfClosing() -> [CheckedContinuation<Bool, Never>] {
    phase == .open ? [] : waiters.takeAll()
  }
}

/// How much of a connection's output the kernel does not take yet.
struct BacklogState: Hashable {
  var bytes = 0
  /// Whether that is little.
  var isWritable = true
}
