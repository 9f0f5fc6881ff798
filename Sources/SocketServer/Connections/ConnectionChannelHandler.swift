import NIOCore
import PosternSupport

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
  /// How many it gets while work of other connections waits.
  static let eventsPerRound = 8

  let connection: Connection
  let timeouts: ConnectionTimeouts
  /// The connection's share of the event loop.
  private let executor: ConnectionTaskExecutor
  /// The channel's socket, for direct writes: good while `isActive`, for NIO closes it on this event loop.
  let descriptor: CInt
  var context: ChannelHandlerContext?
  private(set) var isActive = false

  private let makeDelegate: @Sendable (Connection) -> any ConnectionDelegate
  private let onClosed: @Sendable (Connection) -> Void
  private var delegate: (any ConnectionDelegate)?
  private var isFinished = false

  // Reading.
  private(set) var input: InboundBacklog
  /// The most bytes of a message that the server allows.
  private let messageBytes: Int
  private var isDelivering = false
  private var isInQueue = false
  private var hasInputEnded = false
  private var hasReportedInputEnd = false
  private(set) var isReadSuppressed = false
  /// Bytes of long messages that were delivered and are still being handled.
  private var longBytes = 0
  /// How much of what is here the uid's ledger knows of.
  private var reportedInput = 0
  var stall: StallWatch
  var stallTimer: Scheduled<Void>?

  // Writing; see ConnectionChannelHandler+Writing.swift.
  var isInBatch = false
  var reusable = ByteBuffer()
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
    executor: ConnectionTaskExecutor,
    descriptor: CInt,
    framer: InboundFramer,
    timeouts: ConnectionTimeouts,
    makeDelegate: @escaping @Sendable (Connection) -> any ConnectionDelegate,
    onClosed: @escaping @Sendable (Connection) -> Void
  ) {
    self.connection = connection
    self.executor = executor
    self.descriptor = descriptor
    input = InboundBacklog(framer)
    messageBytes = framer.messageBytes
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
    input.drop()
    connection.didClose()
    delegate?.closed(connection, reason: closeReason ?? .peer)
    delegate = nil
    onClosed(connection)
  }

  // MARK: - Reading

  /// Whether received bytes still become events.
  var acceptsInput: Bool { context != nil && !isFlushingLast && !hasInputEnded }

  func read(context: ChannelHandlerContext) {
    if isLingering || mayTakeMore && input.isEmpty {
      context.read()
    } else {
      isReadSuppressed = true
    }
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard acceptsInput else { return }
    input.messageBytes = min(messageBytes, delegate?.messageBytes(on: connection) ?? messageBytes)
    input.add(Self.unwrapInboundIn(data))
    deliver()
    if !settleInput(), input.framer.isMidMessage { giveUpMessage() }
  }

  /// Reports the bytes of messages to the uid's ledger; false when there are too many.
  @discardableResult
  private func settleInput() -> Bool {
    let bytes = input.keptBytes + longBytes
    let change = bytes - reportedInput
    guard context != nil, abs(change) >= ByteLedger.grain || bytes == 0 && change != 0 else { return true }
    reportedInput = bytes
    return !connection.unfinished.add(change, of: connection)
  }

  /// The uid has too much of unfinished messages here: the connection that goes on with one pays for all of them.
  private func giveUpMessage() {
    hasInputEnded = true
    input.giveUp(limit: connection.unfinished.limit)
    deliver()
    settleInput()
  }

  /// The connection was resumed.
  func inputResumes() {
    guard let context, !connection.isPaused else { return }
    longBytes = 0
    resume(context)
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    if isInBatch { drain() }
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if case .some(.inputClosed) = event as? ChannelEvent, acceptsInput {
      hasInputEnded = true
      deliver()
      if isInBatch { drain() }
    }
    context.fireUserInboundEventTriggered(event)
  }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    reportChannel(context)
    if context.channel.isWritable { resume(context) }
    delegate?.writabilityChanged(on: connection)
    context.fireChannelWritabilityChanged()
  }

  /// Whether the peer takes what is sent to it, and may cause more: what its uid does not read may have come to too
  /// much.
  private var mayTakeMore: Bool {
    reportedWritable && !connection.isPaused && !(reportedChannelBytes > 0 && connection.unread.isStrained)
  }

  /// The peer has read enough to continue.
  func resume(_ context: ChannelHandlerContext) {
    resumeWaiters()
    deliver()
    settleInput()
    if isInBatch, !isDelivering { drain() }
    resumeReading(context)
  }

  /// Reads again if reading was suppressed and need not be any more.
  func resumeReading(_ context: ChannelHandlerContext) {
    guard isReadSuppressed, isLingering || mayTakeMore && input.isEmpty else { return }
    isReadSuppressed = false
    context.read()
  }

  /// Frames what was read and passes events to the delegate, group by group, as long as the peer reads the responses
  /// and the scheduler allows.
  private func deliver() {
    // Writing between two groups can make the channel writable again, which ends up here.
    guard !isDelivering, !isInQueue else { return }
    guard let begin = executor.scheduler.beginHere() else { return queueUp() }
    var isMore = true
    repeat {
      isMore = deliverGroup(atMost: Self.eventsPerCall)
    } while isMore && executor.scheduler.mayContinue(since: begin)
    executor.scheduler.endHere(since: begin, of: executor.flow)
    if isMore { queueUp() }
  }

  /// Delivers the next group of events; called by the scheduler.
  func deliverScheduled() {
    isInQueue = false
    let isMore = deliverGroup(atMost: executor.scheduler.isCrowded ? Self.eventsPerRound : Self.eventsPerCall)
    if isMore { return queueUp() }
    if isInBatch { drain() }
    settleInput()
    if let context { resumeReading(context) }
  }

  private func queueUp() {
    isInQueue = true
    executor.scheduler.add(.delivery(self), of: executor.flow)
  }

  /// Frames the next bytes and hands the next events to the delegate; true when there are more and the peer takes the
  /// answers.
  private func deliverGroup(atMost limit: Int) -> Bool {
    guard !connection.isPaused else { return false }
    isDelivering = true
    defer { isDelivering = false }
    // One at a time where much waits already: many small requests with large answers would pass the limit by far.
    let limit = connection.unread.isStrained ? 1 : limit
    frameNext(atMost: limit)
    if input.hasEvents, beginBatch() { deliverEvents(atMost: limit) } else if input.hasEvents { input.drop() }
    guard input.isEmpty else {
      if isInBatch { drain() }
      return isActive && mayTakeMore
    }
    finishDelivery()
    return false
  }

  private func frameNext(atMost limit: Int) {
    // What comes after the last answer is no longer wanted.
    guard !isFlushingLast else { return input.drop() }
    let isFramed = input.frame(atMost: limit)
    if hasInputEnded { input.end() }
    guard isFramed, let context, acceptsInput, input.unframedBytes == 0, input.framer.isMidMessage else { return }
    watchStall(context)
  }

  private func deliverEvents(atMost limit: Int) {
    delegate?.received(input.take(atMost: limit), on: connection)
    longBytes = connection.isPaused ? longBytes + input.longBytesTaken : 0
    input.didDeliver()
  }

  /// All is delivered, or no longer wanted.
  private func finishDelivery() {
    if hasInputEnded, !hasReportedInputEnd, !connection.isPaused {
      hasReportedInputEnd = true
      if beginBatch() { delegate?.inputEnded(on: connection) }
    }
  }

  /// From here to the next `drain` on this event loop sends are only collected; false when the connection is closing.
  private func beginBatch() -> Bool {
    isInBatch = true
    return connection.withOutbox { outbox in
      outbox.isDrainOwed = true
      if let framing = input.framer.framing { outbox.framing = framing }
      return outbox.phase == .open
    }
  }
}
