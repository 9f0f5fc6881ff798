import NIOCore
import Support

/// One connection's end of the channel pipeline: bytes to events, outbox to bytes, and the clocks.
final class ConnectionChannelHandler: ChannelDuplexHandler, @unchecked Sendable {
  // Sendable because every variable is touched on the channel's event loop only; other threads hold the reference
  // merely to get there.
  typealias InboundIn = ByteBuffer
  typealias OutboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  /// How many events one call of the delegate gets at most. Between the calls its answers are written, so that a read
  /// full of small requests with large answers cannot pile those up behind a peer that does not read.
  static let eventsPerCall = 32
  /// How many it gets while other connections wait for their turn.
  static let eventsPerTurn = 8

  let connection: Connection
  let timeouts: ConnectionTimeouts
  /// The connection's share of the event loop.
  private let turns: FlowTaskExecutor
  /// The channel's socket, for direct writes: good while `isActive`, for NIO closes it on this event loop.
  let descriptor: CInt
  var context: ChannelHandlerContext?
  private(set) var isActive = false

  private let makeDelegate: @Sendable (Connection) -> any ConnectionDelegate
  private let onClosed: @Sendable (Connection) -> Void
  private var delegate: (any ConnectionDelegate)?
  private var isFinished = false

  // Reading.
  private(set) var framer: InboundFramer
  private var undelivered: [InboundEvent] = []
  private var deliveredCount = 0
  private var isDelivering = false
  private var isInQueue = false
  private var hasInputEnded = false
  private var hasReportedInputEnd = false
  private(set) var isReadSuppressed = false
  var stall: StallWatch
  var stallTimer: Scheduled<Void>?

  // Writing; see ConnectionChannelHandler+Writing.swift.
  var isInBatch = false
  var spare = ByteBuffer()
  /// Bytes given to NIO so far: what the kernel did not take at once.
  var handedOver = 0
  /// False when NIO was seen empty since.
  var mayChannelHoldBytes = false
  var reportedChannelBytes = 0
  var reportedWritable = true
  var isFlushingLast = false
  var isLingering = false
  var closeReason: CloseReason?
  /// The process that connected was gone when it was last looked for.
  var peerHasEnded = false
  var writeWatch: WriteWatch
  var writeTimer: Scheduled<Void>?
  var lingerTimer: Scheduled<Void>?

  init(
    connection: Connection,
    turns: FlowTaskExecutor,
    descriptor: CInt,
    framer: InboundFramer,
    timeouts: ConnectionTimeouts,
    makeDelegate: @escaping @Sendable (Connection) -> any ConnectionDelegate,
    onClosed: @escaping @Sendable (Connection) -> Void
  ) {
    self.connection = connection
    self.turns = turns
    self.descriptor = descriptor
    self.framer = framer
    self.timeouts = timeouts
    self.makeDelegate = makeDelegate
    self.onClosed = onClosed
    stall = StallWatch(limit: timeouts.stall)
    writeWatch = WriteWatch(limit: timeouts.write)
  }

  // MARK: - Life

  func handlerAdded(context: ChannelHandlerContext) {
    self.context = context
    connection.attach(self)
    delegate = makeDelegate(connection)
  }

  func channelActive(context: ChannelHandlerContext) {
    isActive = true
    // What the delegate sent while it was made waited for the channel.
    drain()
    context.fireChannelActive()
  }

  func channelInactive(context: ChannelHandlerContext) {
    finish()
    context.fireChannelInactive()
  }

  func handlerRemoved(context: ChannelHandlerContext) { finish() }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    closeNow((error as? IOError).map { .failed(errno: $0.errnoCode) } ?? .failed(errno: 0))
  }

  private func finish() {
    guard !isFinished else { return }
    isFinished = true
    isActive = false
    context = nil
    for timer in [stallTimer, writeTimer, lingerTimer] { timer?.cancel() }
    undelivered = []
    deliveredCount = 0
    connection.didClose()
    delegate?.closed(connection, reason: closeReason ?? .peer)
    delegate = nil
    onClosed(connection)
  }

  // MARK: - Reading

  /// Whether what comes in still becomes events.
  var acceptsInput: Bool { context != nil && !isFlushingLast && !hasInputEnded }

  func read(context: ChannelHandlerContext) {
    if isLingering || reportedWritable && undelivered.isEmpty {
      context.read()
    } else {
      isReadSuppressed = true
    }
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard acceptsInput else { return }
    framer.receive(MessageBytes(Self.unwrapInboundIn(data)), into: &undelivered)
    deliver()
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    if isInBatch { drain() }
    if acceptsInput, framer.isMidMessage { watchStall(context) }
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if case .some(.inputClosed) = event as? ChannelEvent, acceptsInput {
      hasInputEnded = true
      framer.end(into: &undelivered)
      deliver()
      if isInBatch { drain() }
    }
    context.fireUserInboundEventTriggered(event)
  }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    reportChannel(context)
    if context.channel.isWritable {
      resumeWaiters()
      deliver()
      if isInBatch, !isDelivering { drain() }
      resumeReading(context)
    }
    delegate?.writabilityChanged(on: connection)
    context.fireChannelWritabilityChanged()
  }

  /// Reads again if that was held back and nothing is in the way any more.
  func resumeReading(_ context: ChannelHandlerContext) {
    guard isReadSuppressed, isLingering || undelivered.isEmpty else { return }
    isReadSuppressed = false
    context.read()
  }

  /// Hands events to the delegate, group by group, as long as the peer takes the answers and it is this connection's turn.
  private func deliver() {
    // Writing between two groups can make the channel writable again, which ends up here.
    guard !isDelivering, !isInQueue else { return }
    guard let begin = turns.scheduler.beginHere() else { return queueUp() }
    var isMore = true
    repeat { isMore = deliverGroup(atMost: Self.eventsPerCall) } while isMore && turns.scheduler.mayGoOn(since: begin)
    turns.scheduler.endHere(since: begin, of: turns.flow)
    if isMore { queueUp() }
  }

  /// It is this connection's turn.
  func deliverInTurn() {
    isInQueue = false
    let isMore = deliverGroup(atMost: turns.scheduler.isCrowded ? Self.eventsPerTurn : Self.eventsPerCall)
    if isMore { return queueUp() }
    if isInBatch { drain() }
    if let context, reportedWritable { resumeReading(context) }
  }

  private func queueUp() {
    isInQueue = true
    turns.scheduler.add(.delivery(self), of: turns.flow)
  }

  /// Hands the next events to the delegate; true when there are more and the peer takes the answers.
  private func deliverGroup(atMost limit: Int) -> Bool {
    isDelivering = true
    defer { isDelivering = false }
    if deliveredCount < undelivered.count, beginBatch() {
      let left = undelivered.count - deliveredCount
      if deliveredCount == 0, left <= limit {
        deliveredCount = left
        delegate?.received(undelivered, on: connection)
      } else {
        let group = undelivered[deliveredCount...].prefix(limit)
        deliveredCount += group.count
        delegate?.received(Array(group), on: connection)
      }
      if deliveredCount < undelivered.count {
        drain()
        return isActive && reportedWritable
      }
    }
    finishDelivery()
    return false
  }

  /// All is delivered, or no longer wanted.
  private func finishDelivery() {
    undelivered.removeAll(keepingCapacity: undelivered.count <= Self.eventsPerCall)
    deliveredCount = 0
    if hasInputEnded, !hasReportedInputEnd {
      hasReportedInputEnd = true
      if beginBatch() { delegate?.inputEnded(on: connection) }
    }
  }

  /// From here to the next `drain` on this event loop sends are only collected; false when the connection is closing.
  private func beginBatch() -> Bool {
    isInBatch = true
    return connection.withOutbox { outbox in
      outbox.isDrainOwed = true
      if let framing = framer.framing { outbox.framing = framing }
      return outbox.phase == .open
    }
  }
}
