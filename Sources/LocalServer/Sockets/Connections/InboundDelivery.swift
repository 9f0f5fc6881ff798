import PosternRuntime
import PosternSupport

/// Passes what one peer sends to the connection's delegate: frames the bytes that were read, and delivers events in
/// groups, as long as the peer reads the responses and the scheduler allows.
final class InboundDelivery: ScheduledInput, @unchecked Sendable {
  // Sendable because every variable is touched on the event loop only; the scheduler and timers hold the
  // reference merely to get there.

  /// How many events one call of the delegate gets at most. Between the calls its answers are written, so that a read
  /// full of small requests with large answers cannot pile those up behind a peer that does not read.
  static let eventsPerCall = 32
  /// How many it gets while work of other connections waits.
  static let eventsPerRound = 8
  /// How many are handled before the clock is read: a call may be carried out where its event is handled, and what one
  /// group costs is what other connections wait.
  private static let eventsAtOnce = 4

  private enum Progress {
    case idle
    case delivering
    /// The scheduler calls `handleScheduled`.
    case queued
  }

  private enum InputEnd {
    case open
    /// No more bytes are taken.
    case ended
    /// The delegate knows.
    case reported
  }

  private let socket: ConnectionSocket
  private let writer: OutboxWriter
  /// The connection's share of the event loop.
  private let executor: ConnectionTaskExecutor
  /// Gets the events, until the connection is over.
  var delegate: (any ConnectionDelegate)?
  private var input: InboundBacklog
  private var pressure: InboundPressure
  private var progress = Progress.idle
  private var inputEnd = InputEnd.open
  private var stall: StallWatch
  private var stallTimer: LoopTimers.ID?

  /// `stallTimeout` is how long a peer that has begun a message may be silent.
  init(
    _ connection: Connection, _ socket: ConnectionSocket, _ writer: OutboxWriter, executor: ConnectionTaskExecutor,
    framer: InboundFramer, stallTimeout: Duration
  ) {
    self.socket = socket
    self.writer = writer
    self.executor = executor
    input = InboundBacklog(framer)
    pressure = InboundPressure(connection)
    stall = StallWatch(limit: stallTimeout)
    // The handler that owns both is there when it is called.
    writer.whenEmpty = { [unowned self] in resume() }
  }

  private var connection: Connection { pressure.connection }

  /// Whether received bytes still become events.
  private var acceptsInput: Bool { socket.isOpen && inputEnd == .open }

  /// Whether more may be read, or delivered: the peer takes what is sent to it.
  private var mayTakeMore: Bool { pressure.allowsMore(output: writer.reported) }

  // MARK: - Reading

  /// Bytes were read.
  func receive(_ bytes: ByteBuffer) {
    guard acceptsInput else { return }
    input.limitMessages(to: delegate?.messageBytes(on: connection))
    input.add(bytes)
    deliver()
    if !settle(), input.framer.isMidMessage { giveUpMessage() }
    writer.endBatch()
  }

  /// Reads on, or stops reading, as what waits here and for the peer requires.
  func updateReading() { socket.allowReading(mayTakeMore && input.isEmpty) }

  /// The peer has half-closed.
  func endInput() {
    guard acceptsInput else { return }
    inputEnd = .ended
    deliver()
    writer.endBatch()
  }

  /// The connection was resumed.
  func unpause() {
    guard socket.isActive, !connection.isPaused else { return }
    pressure.longBytes = 0
    resume()
  }

  /// The peer has read enough to continue.
  func resume() {
    writer.resumeWaiters()
    deliver()
    settle()
    if progress != .delivering { writer.endBatch() }
    updateReading()
  }

  /// The connection is over: drops what was not delivered.
  func stop() {
    if let stallTimer { socket.loop.cancel(stallTimer) }
    input.drop()
  }

  /// Reports the bytes of messages to the uid's ledger; false when there are too many.
  @discardableResult
  private func settle() -> Bool { !socket.isActive || pressure.settle(keptBytes: input.keptBytes) }

  /// The uid has too much of unfinished messages here: the connection that goes on with one pays for all of them.
  private func giveUpMessage() {
    inputEnd = .ended
    input.giveUp(limit: connection.unfinished.limit)
    deliver()
    settle()
  }

  // MARK: - Delivery

  /// Delivers now, or has the scheduler do it.
  private func deliver() {
    // Writing between two groups can make the peer keep up again, which ends up here.
    guard progress == .idle else { return }
    guard let begin = executor.scheduler.beginHere() else { return queueUp() }
    var isMore = true
    repeat {
      isMore = deliverGroup(atMost: Self.eventsPerCall)
    } while isMore && executor.scheduler.mayContinue(since: begin)
    executor.scheduler.endHere(since: begin, of: executor.flow)
    if isMore { queueUp() }
  }

  /// Delivers the next group of events; called by the scheduler.
  func handleScheduled() {
    progress = .idle
    let isMore = deliverGroup(atMost: executor.scheduler.isCrowded ? Self.eventsPerRound : Self.eventsPerCall)
    if isMore { return queueUp() }
    writer.endBatch()
    settle()
    if socket.isActive { updateReading() }
  }

  private func queueUp() {
    progress = .queued
    executor.scheduler.add(.input(self), of: executor.flow)
  }

  /// Frames the next bytes and hands the next events to the delegate; true when there are more and the peer takes the
  /// answers.
  private func deliverGroup(atMost limit: Int) -> Bool {
    guard !connection.isPaused else { return false }
    progress = .delivering
    defer { progress = .idle }
    // One at a time where much waits already: many small requests with large answers would pass the limit by far.
    let limit = connection.unread.isStrained ? 1 : limit
    frameNext(atMost: limit)
    if input.hasEvents {
      if writer.beginBatch(input.framer.framing) { deliverEvents(atMost: limit) } else { input.drop() }
    }
    guard input.isEmpty else {
      writer.endBatch()
      return socket.isActive && mayTakeMore
    }
    reportInputEnd()
    return false
  }

  private func frameNext(atMost limit: Int) {
    // What comes after the last answer is no longer wanted.
    guard socket.phase == .open else { return input.drop() }
    let isFramed = input.frame(atMost: limit)
    if inputEnd != .open { input.end() }
    if isFramed, acceptsInput, input.unframedBytes == 0, input.framer.isMidMessage { watchStall() }
  }

  private func deliverEvents(atMost limit: Int) {
    let begin = LoopScheduler.now
    var left = limit
    repeat {
      delegate?.received(input.take(atMost: min(left, Self.eventsAtOnce)), on: connection)
      pressure.longBytes = connection.isPaused ? pressure.longBytes + input.longBytesTaken : 0
      input.didDeliver()
      left -= Self.eventsAtOnce
    } while left > 0 && input.hasEvents && !connection.isPaused && LoopScheduler.now - begin < LoopScheduler.quantum
  }

  /// All is delivered, or no longer wanted.
  private func reportInputEnd() {
    guard inputEnd == .ended, !connection.isPaused else { return }
    inputEnd = .reported
    if writer.beginBatch(input.framer.framing) { delegate?.inputEnded(on: connection) }
  }

  // MARK: - Stall timeout

  /// Bytes came and a message is incomplete: starts or feeds the stall clock.
  private func watchStall() {
    stall.progressed(
      ordinal: input.framer.message.ordinal, length: input.framer.message.length, now: socket.loop.now)
    // One timer per connection, left to run: it looks at the clock again instead of being moved with every read.
    guard stallTimer == nil else { return }
    stallTimer = socket.loop.schedule(in: stall.limit) { self.checkStall() }
  }

  private func checkStall() {
    stallTimer = nil
    guard acceptsInput, input.framer.isMidMessage else { return }
    let now = socket.loop.now
    if socket.isReadSuppressed { stall.suspended(now: now) }
    switch stall.verdict(now: now) {
    case .stalled: socket.closeNow(.stalled)
    case .checkAgain(let delay): stallTimer = socket.loop.schedule(in: delay) { self.checkStall() }
    }
  }
}
