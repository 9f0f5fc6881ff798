import HTTPMessages
import PosternRuntime
import PosternSupport

/// One HTTP connection: its bytes go through the guard, one request after another to the responder, and the responses
/// back. Everything that costs time goes through the loop's scheduler. All variables belong to the event loop.
final class HTTPConnection: ReadinessHandler, IterationEnd, ScheduledInput, @unchecked Sendable {
  // Sendable because its variables are touched on the connection's event loop only.

  /// How many bytes of a body are read before its reader asks for them.
  private static let window = 64 << 10
  /// How many unread bytes of a body are dropped after a response, so that the connection can be used again.
  static let discardable = 64 << 10
  /// Bytes that are read between two looks at the clock.
  private static let bytesAtOnce = 2 << 10

  /// The connection's program and number, and who answers its requests.
  struct Link: Sendable {
    let id: UInt64
    let caller: GatewayRequest.Program
    let responder: any GatewayResponder
    /// Whether a client that has closed the connection looks the same as one that has only finished sending.
    let hidesItsEnd: Bool
    /// Whether its requests are those of the process that has connected.
    let isOfProcess: Bool
  }

  enum Phase { case open, lingering, closed }

  /// What happens once the client has received everything.
  enum AfterOutput {
    case end(HTTPExchange, @Sendable (Bool) -> Void)
    case endOutput
  }

  let link: Link
  let server: any HTTPServer
  let socket: HTTPSocket
  /// The uid that the connection's time and memory are charged to.
  private(set) var uid: UInt32
  /// The connection's share of the event loop.
  private(set) var executor: ConnectionTaskExecutor
  private let onClosed: @Sendable () -> Void
  var requestGuard: RequestGuard
  /// Bytes that were received and not handled yet.
  private(set) var pending = ByteBuffer()
  var exchange: HTTPExchange?
  var phase = Phase.open
  var input = HTTPInput()
  var timer = HTTPTimer()
  var afterOutput: AfterOutput?
  /// What the server has counted of `heldBytes`.
  var countedBytes = 0
  private var isFlushOwed = false
  /// Whether the process that connected was gone when it was last looked for.
  private var processHasEnded = false

  /// How often it is looked whether the process that connected still runs.
  private static let processCheck = Duration.seconds(2)

  /// `onClosed` is called when the socket is closed, on any thread.
  init(
    _ link: Link, of uid: UInt32, _ server: any HTTPServer, _ descriptor: CInt, on loop: ServingLoop,
    _ reader: SocketReader, onClosed: @escaping @Sendable () -> Void
  ) {
    self.link = link
    self.server = server
    self.uid = uid
    self.onClosed = onClosed
    socket = HTTPSocket(descriptor, on: loop.loop, reader)
    executor = ConnectionTaskExecutor(loop.scheduler, uid: uid)
    requestGuard = RequestGuard(server.requestLimits)
  }

  var timeouts: HTTPTimeouts { server.timeouts }

  /// Runs `body` on the event loop, at once if the caller is on it. False when the loop has ended.
  @discardableResult
  func perform(_ body: @escaping @Sendable (HTTPConnection) -> Void) -> Bool {
    guard !socket.loop.isCurrent else {
      body(self)
      return true
    }
    return socket.loop.execute { body(self) }
  }

  /// Charges the connection to another uid from now on.
  func share(with uid: UInt32) {
    guard uid != self.uid else { return }
    let counted = countedBytes
    let before = self.uid
    server.held.withLock { held in
      held.giveBack(counted, for: before)
      held.add(counted, for: uid)
    }
    self.uid = uid
    executor = ConnectionTaskExecutor(executor.scheduler, uid: uid)
  }

  // MARK: - Events of the socket

  /// Begins to read, behind bytes that have been `received` already.
  func start(with received: ByteBuffer = ByteBuffer()) throws(EpollError) {
    try socket.open(self)
    pending = received
    // A connection that was accepted as the server began to drain is not in the server's list.
    setInputDeadline(server.isDraining ? timeouts.acceptGrace : timeouts.head)
    watchProcess()
    if pending.isEmpty { update() } else { handleInput() }
  }

  /// Leaves when the process that connected is not there at two looks: another one that has inherited the connection is
  /// not meant.
  private func watchProcess() {
    guard link.isOfProcess else { return }
    socket.loop.schedule(in: Self.processCheck) { [weak self] in
      guard let self, phase == .open else { return }
      let isGone = socket.peerHasExited
      if isGone, processHasEnded { return leave() }
      processHasEnded = isGone
      watchProcess()
    }
  }

  func ready(_ readiness: Readiness) {
    if readiness.contains(.hungUp) { return hangUp() }
    if readiness.contains(.peerEnded), !socket.clientHasEnded {
      socket.clientEnds()
      update()
    }
    if readiness.contains(.writable), phase != .closed { flush() }
    if readiness.contains(.readable), phase != .closed {
      // Only now does the loop stop watching for reads: most requests are answered before the next one arrives.
      if wantsRead { read() } else { socket.isReading = false }
    }
  }

  private func read() {
    switch socket.read() {
    case .failed: return leave()
    case .nothing: return
    case .end: input.hasEnded = true
    case .bytes(let bytes):
      guard phase == .open else { return }
      if pending.isEmpty { pending = bytes } else { pending.append(bytes) }
      return handleInput()
    }
    update()
  }

  /// Both directions are over. What was sent before is read behind a last response: otherwise the kernel would discard
  /// that with it.
  private func hangUp() {
    if phase == .lingering { while case .bytes = socket.read() {} }
    leave()
  }

  /// Closes the connection at once: its client has gone, does not read, or has a response that cannot be continued.
  func leave() {
    guard phase != .closed else { return }
    phase = .closed
    timer.cancel(on: socket.loop)
    let afterOutput = afterOutput.take()
    pending = ByteBuffer()
    let exchange = exchange
    self.exchange = nil
    exchange?.abandon()
    socket.close(onClosed)
    countHeldBytes()
    if case .end(_, let whenTaken) = afterOutput { whenTaken(false) }
  }

  // MARK: - Reading

  /// Handles the received bytes: at once if no other connection waits for its turn.
  private func handleInput() {
    guard !input.isQueued, !input.isAdvancing else { return }
    guard let begin = executor.scheduler.beginHere() else { return queueInput() }
    let flow = executor.flow
    advance()
    executor.scheduler.endHere(since: begin, of: flow)
  }

  private func queueInput() {
    guard !input.isQueued else { return }
    input.isQueued = true
    executor.scheduler.add(.input(self), of: executor.flow)
  }

  func handleScheduled() {
    input.isQueued = false
    advance()
  }

  /// Handles received bytes while they are wanted, for at most one quantum of the scheduler.
  func advance() {
    guard !input.isAdvancing else { return }
    input.isAdvancing = true
    let begin = LoopScheduler.now
    while phase == .open, !pending.isEmpty, wantsBytes {
      let (used, event) = pending.withUnsafeBytes {
        requestGuard.read(UnsafeRawBufferPointer(rebasing: $0.prefix(Self.bytesAtOnce)))
      }
      guard used > 0 else { break }
      pending.removeFirst(used)
      switch event {
      case .head(let head, let size): self.begin(head, size)
      case .body(let data): take(data, used)
      case .rejected(let rejection): reject(rejection)
      case nil: break
      }
      guard LoopScheduler.now - begin < LoopScheduler.quantum else {
        queueInput()
        break
      }
    }
    // A connection that waits keeps no buffer.
    if pending.isEmpty { pending = ByteBuffer() }
    input.isAdvancing = false
    update()
  }

  /// Whether received bytes would be handled now.
  private var wantsBytes: Bool {
    guard !requestGuard.isComplete, !requestGuard.hasFailed else { return false }
    guard let exchange else { return true }
    guard exchange.isReading, exchange.body.count > 0 else { return exchange.isReading }
    return exchange.body.count < Self.window && !isOverShare
  }

  /// Whether more is to be read from the socket.
  private var wantsRead: Bool { !input.hasEnded && (phase == .lingering || pending.isEmpty && wantsBytes) }

  private func begin(_ head: RequestHead, _ size: Int) {
    let fields: HTTPFields
    do throws(RequestRejection) {
      fields = try server.fields(of: head, on: self)
    } catch {
      return reject(error)
    }
    input.requests += 1
    timer.input = nil
    let exchange = HTTPExchange(head, size: size, closes: server.isDraining)
    self.exchange = exchange
    let request = GatewayRequest(
      connection: link.id, caller: link.caller, method: head.line.method, path: head.line.path, query: head.line.query,
      authority: head.host, fields: fields,
      body: ExchangeBody(connection: self, exchange: exchange, length: head.framing.length), executor: executor)
    let response = ExchangeResponse(connection: self, exchange: exchange)
    server.responderStarts(on: self)
    if let begun = link.responder.begin(request, response) {
      exchange.cancel = begun.cancel
      return begun.run { [server] in self.responderEnded(exchange, server) }
    }
    let task = Task(executorPreference: executor) { [server, link] in
      await link.responder.respond(to: request, with: response)
      self.responderEnded(exchange, server)
    }
    exchange.cancel = task.cancel
  }

  /// Takes bytes of a body, which had `size` bytes with their framing.
  private func take(_ data: [UInt8], _ size: Int) {
    if let exchange {
      exchange.progress.received(size)
      exchange.body.append(data)
      if requestGuard.isComplete { exchange.body.finish(.end) }
      return passOn(exchange)
    }
    input.discardable -= size
    if requestGuard.isComplete { return startNext() }
    if input.discardable <= 0 { linger() }
  }

  func passOn(_ exchange: HTTPExchange) {
    exchange.resumeReader(at: socket.loop.now)
    if exchange.reader == nil { timer.input = nil }
  }

  /// Rejects a request that cannot be read, with a response unless one is under way.
  func reject(_ rejection: RequestRejection) {
    requestGuard.fail(rejection)
    let traceID = server.report(rejection, of: link.caller, traceparent: requestGuard.traceparent)
    if let exchange {
      exchange.body.finish(.failed("is malformed: \(rejection.detail)"))
      return passOn(exchange)
    }
    guard input.discardable == 0 else { return linger() }
    linger(behind: server.response(to: rejection, isToHead: requestGuard.isHead, traceID: traceID))
  }

  /// Answers the request with `rejection` instead of its responder, unless the response has begun.
  func cutOff(_ rejection: RequestRejection) {
    guard phase == .open else { return }
    guard let exchange, !exchange.response.hasBegun else { return leave() }
    self.exchange = nil
    exchange.abandon()
    let traceID = server.report(rejection, of: link.caller, traceparent: requestGuard.traceparent)
    linger(behind: server.response(to: rejection, isToHead: requestGuard.isHead, traceID: traceID))
  }

  // MARK: - Requests and timeouts

  /// Reacts to whatever may have changed: the end of the input, the next read, the timer.
  func update() {
    guard phase != .closed else { return }
    countHeldBytes()
    if input.hasEnded, phase == .lingering, input.isAnswered { return leave() }
    if phase == .open, !requestGuard.hasFailed {
      // The request, or the next one, will never be whole.
      let isWhole = exchange != nil && requestGuard.isComplete
      guard !input.hasEnded || isWhole || !pending.isEmpty else { return leave() }
      if socket.clientHasEnded, isWhole, link.hidesItsEnd, timer.input == nil { setInputDeadline(timeouts.linger) }
    }
    if phase == .open, exchange == nil, !requestGuard.isIdle, !timer.isForHead {
      setInputDeadline(timeouts.head, isForHead: true)
    }
    if wantsRead { socket.isReading = true }
    armTimer()
  }

  func setInputDeadline(_ time: Duration, isForHead: Bool = false) {
    timer.input = socket.loop.now + time
    timer.isForHead = isForHead
    armTimer()
  }

  private func armTimer() { timer.arm(on: socket.loop) { [weak self] in self?.timedOut() } }

  private func timedOut() {
    timer.hasFired()
    guard phase != .closed else { return }
    let now = socket.loop.now
    if let output = timer.output, output <= now {
      guard socket.unwrittenBytes < timer.unwritten else { return leave() }
      awaitOutput()
    }
    guard let deadline = timer.input, deadline <= now else { return update() }
    timer.input = nil
    if phase == .lingering { return leave() }
    if let exchange {
      guard exchange.reader != nil else { return leave() }
      reject(RequestRejection("the body did not come in time", status: 408, .requestTimeout))
      return update()
    }
    if requestGuard.isIdle { return leave() }
    reject(RequestRejection("the request did not come in time", status: 408, .requestTimeout))
  }

  /// Makes the connection ready for the next request.
  func startNext() {
    requestGuard.startNext()
    input.discardable = 0
    guard !server.isDraining else { return linger() }
    setInputDeadline(timeouts.idle)
    if pending.isEmpty { update() } else { handleInput() }
  }

  /// Ends the connection so that the client can read what was sent: this side is closed, and what still comes is
  /// dropped for a moment. Closing with unread bytes would discard the response on its way.
  func linger(behind bytes: [UInt8] = []) {
    guard phase == .open else { return }
    phase = .lingering
    pending = ByteBuffer()
    timer.output = nil
    setInputDeadline(timeouts.linger)
    afterOutput = .endOutput
    socket.write(bytes)
    flush()
    update()
  }

  /// Closes a connection without a request: a new one in a moment, since its request may be on the way.
  func drain() {
    guard phase == .open, exchange == nil, requestGuard.isIdle, pending.isEmpty else { return }
    if input.requests == 0 { setInputDeadline(timeouts.acceptGrace) } else { linger() }
  }

  // MARK: - Writing

  /// Writes at the end of the loop's iteration: head, body and end of a small response leave together.
  func send(_ bytes: [UInt8]) {
    socket.write(bytes)
    guard !isFlushOwed else { return }
    isFlushOwed = true
    socket.loop.atEndOfIteration(self)
  }

  func endIteration() {
    guard isFlushOwed else { return }
    flush()
  }

  /// Writes what the kernel takes now.
  func flush() {
    isFlushOwed = false
    guard phase != .closed else { return }
    let couldWrite = socket.isWritable
    guard socket.flush() else { return leave() }
    countHeldBytes()
    if socket.unwrittenBytes == 0, let next = afterOutput {
      afterOutput = nil
      switch next {
      case .end(let exchange, let whenTaken):
        timer.output = nil
        finish(exchange)
        whenTaken(true)
      case .endOutput:
        input.isAnswered = true
        socket.endOutput()
        update()
      }
    }
    guard let exchange, exchange.writer != nil,
      socket.unwrittenBytes == 0 || socket.isWritable && !couldWrite
    else { return }
    timer.output = nil
    exchange.resumeWriter(true)
  }

  /// Starts the time in which the client has to receive at least one byte.
  func awaitOutput() {
    timer.unwritten = socket.unwrittenBytes
    timer.output = socket.loop.now + timeouts.stall
  }
}
