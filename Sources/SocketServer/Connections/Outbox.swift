import NIOCore

/// The bytes that wait to be written on one connection, and the tasks that wait until there are fewer: the state that
/// all threads share, behind the connection's lock. Methods return what the caller does after releasing it.
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

  /// The most that one message may have: ByteBuffer counts in 32 bits.
  static let maximumMessage = 1 << 30

  /// The most bytes of a message that are kept in one buffer: the memory of each is freed by itself.
  static let pieceBytes = 256 << 10

  /// Framed bytes that are not with the channel yet; `pieces` come before them.
  var buffer = ByteBuffer()
  /// Long messages, and what was sent before them.
  private(set) var pieces: [ByteBuffer] = []
  private var bytesInPieces = 0
  /// The framing answers go out in.
  var framing = Framing.stream
  /// Whether the event loop is going to drain: the rest of a batch, or a task on its way.
  var isDrainOwed = false
  /// Bytes that the channel had at the latest report.
  var channelBytes = 0
  /// Whether the channel was writable at the latest report.
  var isChannelWritable = true
  private(set) var phase = Phase.open
  private var nextTicket = 0
  private var waiters: [Int: CheckedContinuation<Bool, Never>] = [:]
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

  /// Bytes waiting, here and in the channel.
  var pendingBytes: Int { waitingBytes + channelBytes }

  private var waitingBytes: Int { bytesInPieces + buffer.readableBytes }

  /// Whether a sender that can wait should go on.
  var isWritable: Bool {
    guard phase == .open, isChannelWritable, waitingBytes < highWaterMark else { return false }
    return pendingBytes == 0 || unread?.isStrained != true
  }

  /// Whether a task waits for capacity.
  var hasWaiters: Bool { !waiters.isEmpty }

  /// Frames `message` and takes it.
  mutating func append(_ message: UnsafeRawBufferPointer) -> Outcome {
    guard phase == .open else { return .dropped }
    guard pendingBytes <= pendingLimit, message.count <= Self.maximumMessage,
      buffer.readableBytes <= Self.maximumMessage
    else { return .overflow }
    switch framing {
    case .stream:
      buffer.reserveCapacity(minimumWritableBytes: message.count + 1)
      buffer.writeBytes(message)
      buffer.writeInteger(UInt8(ascii: "\n"))
    case .headers:
      buffer.reserveCapacity(minimumWritableBytes: message.count + 40)
      buffer.writeStaticString("Content-Length: ")
      buffer.writeString(String(message.count))
      buffer.writeStaticString("\r\n\r\n")
      buffer.writeBytes(message)
    }
    return oweDrain() ? .drainNeeded : .queued
  }

  /// `message` framed, in pieces.
  static func pieces(of message: UnsafeRawBufferPointer, framing: Framing) -> [ByteBuffer] {
    var pieces: [ByteBuffer] = []
    if framing == .headers { pieces.append(ByteBuffer(string: "Content-Length: \(message.count)\r\n\r\n")) }
    var start = 0
    while start < message.count {
      let end = min(start + pieceBytes, message.count)
      var piece = ByteBuffer()
      piece.reserveCapacity(end - start)
      piece.writeBytes(UnsafeRawBufferPointer(rebasing: message[start..<end]))
      pieces.append(piece)
      start = end
    }
    if framing == .stream { pieces.append(ByteBuffer(string: "\n")) }
    return pieces
  }

  /// Takes a message that was framed before.
  mutating func append(_ message: [ByteBuffer]) -> Outcome {
    guard phase == .open else { return .dropped }
    let count = message.reduce(0) { $0 + $1.readableBytes }
    guard pendingBytes <= pendingLimit, count <= Self.maximumMessage else { return .overflow }
    if buffer.readableBytes > 0 {
      pieces.append(buffer)
      bytesInPieces += buffer.readableBytes
      buffer = ByteBuffer()
    }
    pieces += message
    bytesInPieces += count
    return oweDrain() ? .drainNeeded : .queued
  }

  /// Hands over what waits: the pieces, and behind them what is in `taken` afterwards. What was in it is used again.
  mutating func take(_ taken: inout ByteBuffer) -> [ByteBuffer] {
    swap(&buffer, &taken)
    isDrainOwed = false
    defer { (pieces, bytesInPieces) = ([], 0) }
    return pieces
  }

  /// The change for the ledger of the uid; 0 while its count is nearly right, so that small
  /// answers cost no look at what all connections of the uid share.
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

  /// The channel is gone: forgets everything and hands over the waiters, to be resumed with false.
  mutating func close() -> [CheckedContinuation<Bool, Never>] {
    phase = .closed
    buffer = ByteBuffer()
    (pieces, bytesInPieces) = ([], 0)
    channelBytes = 0
    reportedBytes = 0
    return takeAllWaiters()
  }

  /// A number for a waiter to be known by.
  mutating func makeTicket() -> Int {
    nextTicket += 1
    return nextTicket
  }

  /// Adds a waiter, or returns at once whether there is capacity (nil: wait).
  mutating func wait(_ ticket: Int, _ continuation: CheckedContinuation<Bool, Never>) -> Bool? {
    guard phase == .open else { return false }
    guard !isWritable else { return true }
    waiters[ticket] = continuation
    return nil
  }

  /// Takes one waiter back.
  mutating func removeWaiter(_ ticket: Int) -> CheckedContinuation<Bool, Never>? {
    waiters.removeValue(forKey: ticket)
  }

  /// The waiters to be resumed with true, when there is capacity.
  mutating func takeWaitersIfWritable() -> [CheckedContinuation<Bool, Never>] {
    isWritable ? takeAllWaiters() : []
  }

  /// All waiters, to be resumed by the caller.
  mutating func takeAllWaiters() -> [CheckedContinuation<Bool, Never>] {
    defer { waiters = [:] }
    return Array(waiters.values)
  }
}
