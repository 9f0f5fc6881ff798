public import PosternJSON
public import PosternSupport

/// One connection's conversation: drives `ConnectionStateMachine`, runs the calls, writes the answers.
///
/// `receive`, `endInput`, `drain` and `close` come from the transport, in order; calls end on any thread. The machine
/// is guarded by its lock, actions are carried out after it is released.
public final class JSONRPCConnection: Sendable {
  /// Where the answers go. Both closures may be called from any thread.
  public struct Output: Sendable {
    /// Sends one text; the transport frames it. The bytes are valid during the call only.
    public let write: @Sendable (UnsafeRawBufferPointer) -> Void
    /// Closes once everything written has left.
    public let close: @Sendable () -> Void
    /// Waits until the peer keeps up with what is written for it; false when the connection is closing or the task was
    /// cancelled. Nil: it always keeps up.
    public let ready: (@Sendable () async -> Bool)?
    /// Where calls that wait are run; nil: on the shared pool. On the transport's own thread an answer needs no hop.
    public let executor: (any TaskExecutor)?
    /// Where calls that run without a task continue behind a wait; nil: where that ends.
    public var poster: (any WorkPoster)?
    /// Whether the peer keeps up with what is written for it; nil: it always does.
    public var isReady: (@Sendable () -> Bool)?

    /// Where long texts are read and written, and calls that came in one are carried out; nil: as everything else.
    public var longWork: (@Sendable () -> any TaskExecutor)?
    /// Has the transport deliver nothing more, until each is undone with `false`.
    public let pause: (@Sendable (Bool) -> Void)?
    /// Takes and passes descriptors; nil: the transport passes none.
    public var descriptors: Descriptors?
    /// Sends bytes as they are; nil: the transport cannot.
    public var frames: Frames?

    /// Frames with header fields, for bytes that are no JSON.
    public struct Frames: Sendable {
      let areSpoken: @Sendable () -> Bool
      let write: @Sendable (_ fields: String, _ bytes: UnsafeRawBufferPointer) -> Bool

      /// Frames as the transport has them; `areSpoken`: whether this peer's framing has header fields. `write` gets
      /// fields in addition to the length, each line with its end, and returns false when nothing was sent.
      public init(
        areSpoken: @escaping @Sendable () -> Bool,
        write: @escaping @Sendable (_ fields: String, _ bytes: UnsafeRawBufferPointer) -> Bool
      ) {
        self.areSpoken = areSpoken
        self.write = write
      }
    }

    /// The descriptors that the peer has passed and no call has claimed, in their order, and those that it gets.
    public struct Descriptors: Sendable {
      let areThere: @Sendable () -> Bool
      let take: @Sendable (Int) -> [PassedDescriptor]
      let send: @Sendable (UnsafeRawBufferPointer, [PassedDescriptor], @escaping @Sendable () -> [UInt8]?) -> Void

      /// Descriptors as the transport has them; `take` claims the first ones, `send` is `write` with descriptors. When
      /// these cannot be passed it calls the function, once, and writes what that returns; nil: it closes the
      /// connection.
      public init(
        areThere: @escaping @Sendable () -> Bool, take: @escaping @Sendable (Int) -> [PassedDescriptor],
        send:
          @escaping @Sendable (UnsafeRawBufferPointer, [PassedDescriptor], @escaping @Sendable () -> [UInt8]?) -> Void
      ) { (self.areThere, self.take, self.send) = (areThere, take, send) }
    }

    /// An output of the given parts.
    public init(
      executor: (any TaskExecutor)? = nil, ready: (@Sendable () async -> Bool)? = nil,
      pause: (@Sendable (Bool) -> Void)? = nil,
      write: @escaping @Sendable (UnsafeRawBufferPointer) -> Void, close: @escaping @Sendable () -> Void
    ) {
      self.ready = ready
      self.pause = pause
      self.executor = executor
      self.write = write
      self.close = close
    }
  }

  /// What carries out a call, to cancel it.
  private enum Running {
    case task(Task<Void, Never>)
    case begun(any BegunCall)

    func cancel() {
      switch self {
      case .task(let task): task.cancel()
      case .begun(let call): call.cancel()
      }
    }
  }

  private struct State {
    var machine: ConnectionStateMachine
    var running: [UInt64: Running] = [:]
    /// The tasks that wait for the caller's response to a request of ours.
    var waiters: [UInt64: CheckedContinuation<JSONValue, any Error>] = [:]
    /// How many lists of actions are being carried out, some by threads that write long texts.
    var listsUnderWay = 0
    /// To be closed when they are.
    var isCloseDue = false

    /// Lets an event happen; the actions that it leads to are to be carried out.
    mutating func perform<Result>(
      _ actions: inout [ConnectionStateMachine.Action],
      _ event: (inout ConnectionStateMachine, inout [ConnectionStateMachine.Action]) -> Result
    ) -> Result {
      // Counted here already: an event of another thread must not close before what comes of this one was written.
      defer { if !actions.isEmpty { listsUnderWay += 1 } }
      return event(&machine, &actions)
    }
  }

  /// Texts of so many bytes, a millisecond's work or more, are not read or written where connections are served.
  public static let longText = 128 << 10

  private let state: Locked<State>
  private let dispatcher: any CallDispatcher
  private let output: Output
  private let parser: JSONParser
  private let limits: ConversationLimits
  /// Orders the responses.
  private let delivery = AsyncMutex()

  /// A conversation that has not begun.
  public init(limits: ConversationLimits, dispatcher: any CallDispatcher, output: Output) {
    state = Locked(State(machine: ConnectionStateMachine(limits: limits)))
    self.limits = limits
    self.dispatcher = dispatcher
    self.output = output
    parser = JSONParser(maxBytes: limits.messageBytes, maxDepth: limits.depth, allowsNUL: true, allowsScalar: true)
  }

  /// Where long texts are read and written; nil: right where they come up.
  public var longWork: (any TaskExecutor)? { output.longWork?() }

  /// How many calls are being worked on.
  public var inFlightCount: Int { state.withLock { $0.machine.inFlightCount } }

  /// How many requests of ours the caller has not answered.
  public var openQuestionCount: Int { state.withLock { $0.waiters.count } }

  /// The transport delivered one complete text; the bytes are needed during the call only.
  ///
  /// A large one whose calls would all be rejected (by the rate limit, the methods the caller may use, or too many in
  /// flight) is not parsed: its envelope is sufficient.
  ///
  /// Calls claim the descriptors that the peer has passed in the order of the calls, also those that are rejected. With
  /// a text that cannot be read it is not known whose the descriptors are: they go unused.
  public func receive(text: UnsafeRawBufferPointer, sharesLine: Bool) {
    let descriptors = output.descriptors.flatMap { $0.areThere() ? $0 : nil }
    if descriptors == nil, text.count >= EnvelopeOutline.threshold, let outline = EnvelopeOutline(text, limits: limits),
      rejects(outline)
    {
      return perform(text.count, isUnread: true) {
        $0.receive(.text(.success(JSONTree(outline.json)), sharesLine: sharesLine), &$1)
      }
    }
    let parsed: Result<JSONTree, JSONParseError>
    var claimed: [Int: [PassedDescriptor]] = [:]
    do {
      let json = try parser.tree(of: text)
      if let descriptors { claimed = claims(of: json, from: descriptors) }
      parsed = .success(json)
    } catch {
      _ = descriptors?.take(.max)
      parsed = .failure(error)
    }
    perform(text.count, claimed) { $0.receive(.text(parsed, sharesLine: sharesLine), &$1) }
  }

  /// The descriptors of each call of a text, by its position.
  private func claims(of json: JSONTree, from descriptors: Output.Descriptors) -> [Int: [PassedDescriptor]] {
    var claimed: [Int: [PassedDescriptor]] = [:]
    for (position, member) in (json.elements ?? [json]).enumerated() {
      guard let method = member["method"]?.stringValue else { continue }
      let count = dispatcher.descriptorCount(of: method, member.member("params"))
      if count > 0 { claimed[position] = descriptors.take(count) }
    }
    return claimed
  }

  private func rejects(_ outline: EnvelopeOutline) -> Bool {
    outline.methods.allSatisfy { method in
      !state.withLock { $0.machine.hasRoom(for: method) } || dispatcher.rejects(method: method)
    }
  }

  /// The transport delivered something.
  public func receive(_ input: ConversationInput) {
    _ = output.descriptors?.take(.max)
    perform { $0.receive(input, &$1) }
  }

  /// The caller closed its sending side.
  public func endInput() { perform { $0.endInput(&$1) } }

  /// No new requests; closes when the pending ones are answered.
  public func drain() { perform { $0.drain(&$1) } }

  /// Stops what is pending, which is answered with `fault`, and closes the connection. Without a fault there is no more
  /// time: the answers are `shutting_down`.
  public func finish(with fault: RPCFault? = nil) { perform { $0.finish(with: fault, &$1) } }

  /// The connection is gone.
  public func close() { perform { $0.connectionClosed(&$1) } }

  /// Ends the call `key` with `request_cancelled`; false when it has ended already.
  @discardableResult
  public func cancel(_ key: UInt64) -> Bool {
    var cancelled = false
    perform { cancelled = $0.cancel(key, &$1) }
    return cancelled
  }

  /// Sends a notification of ours.
  public func notify(_ method: String, _ params: JSONValue) {
    let message: JSONValue = ["jsonrpc": "2.0", "method": .string(method), "params": params]
    JSONWriter().withBytes(of: message, output.write)
  }

  /// Sends a notification of ours when the peer keeps up with what was written for it before; false when the connection
  /// is ending.
  public func notifyInTurn(_ method: String, _ params: JSONValue) async -> Bool {
    await delivery.lock()
    defer { delivery.unlock() }
    guard await output.ready?() ?? true else { return false }
    notify(method, params)
    return true
  }

  /// Whether the peer's framing has header fields, so that bytes can be sent that are no JSON.
  public var hasFrames: Bool { output.frames?.areSpoken() ?? false }

  /// Sends bytes of ours that are no JSON when the peer keeps up; false when the connection is ending or has no frames.
  public func frameInTurn(_ fields: String, _ bytes: [UInt8]) async -> Bool {
    await delivery.lock()
    defer { delivery.unlock() }
    guard await output.ready?() ?? true else { return false }
    return bytes.withUnsafeBytes { output.frames?.write(fields, $0) ?? false }
  }

  /// Sends the caller a request of ours and waits for its answer. Throws `PeerError` when the caller answers with an
  /// error or cannot answer any more, `CancellationError` when the waiting task is cancelled.
  public func request(_ method: String, _ params: JSONValue) async throws -> JSONValue {
    try Task.checkCancellation()
    let key = Locked<UInt64?>(nil)
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        var actions: [ConnectionStateMachine.Action] = []
        let sent = state.withLock { state -> UInt64? in
          let sent = state.perform(&actions) { $0.request(method, params, &$1) }
          guard let sent else { return nil }
          state.waiters[sent] = continuation
          return sent
        }
        guard let sent else {
          return continuation.resume(throwing: PeerError(message: "the connection takes no requests"))
        }
        key.withLock { $0 = sent }
        carryOut(actions)
        if Task.isCancelled { abandon(sent) }
      }
    } onCancel: {
      if let sent = key.withLock({ $0 }) { abandon(sent) }
    }
  }

  private func abandon(_ key: UInt64) {
    let waiter = state.withLock { state in
      state.machine.forget(outgoing: key)
      return state.waiters.removeValue(forKey: key)
    }
    waiter?.resume(throwing: CancellationError())
  }

  private func perform(
    _ byteCount: Int = 0, _ claimed: [Int: [PassedDescriptor]] = [:], isUnread: Bool = false,
    _ event: (inout ConnectionStateMachine, inout [ConnectionStateMachine.Action]) -> Void
  ) {
    var actions: [ConnectionStateMachine.Action] = []
    state.withLock { $0.perform(&actions, event) }
    carryOut(actions, byteCount, claimed, isUnread: isUnread)
  }

  /// Carries actions out in their order; with a long text to write among them elsewhere, by the task that is returned.
  @discardableResult
  private func carryOut(
    _ actions: [ConnectionStateMachine.Action], _ byteCount: Int = 0, _ claimed: [Int: [PassedDescriptor]] = [:],
    isUnread: Bool = false
  ) -> Task<Void, Never>? {
    guard !actions.isEmpty else { return nil }
    guard actions.contains(where: \.isLong), !bindsWhatFollows(actions), let executor = output.longWork?() else {
      act(actions, byteCount, claimed, isUnread: isUnread)
      endList()
      return nil
    }
    // So that the peer cannot request more responses than it reads.
    output.pause?(true)
    return Task(executorPreference: executor) { [self] in
      act(actions, byteCount, claimed, isUnread: isUnread)
      output.pause?(false)
      endList()
    }
  }

  /// Closes, if that is due and nothing is being written any more.
  private func endList() {
    let closes = state.withLock { state in
      state.listsUnderWay -= 1
      guard state.listsUnderWay == 0, state.isCloseDue else { return false }
      state.isCloseDue = false
      return true
    }
    if closes { output.close() }
  }

  private func act(
    _ actions: [ConnectionStateMachine.Action], _ byteCount: Int, _ claimed: [Int: [PassedDescriptor]], isUnread: Bool
  ) {
    // Calls behind such a one, in the batch or in the next message, must find it carried out.
    var hasBegun = false
    let isInOrder = bindsWhatFollows(actions)
    for action in actions {
      switch action {
      case .invoke(var call):
        call.byteCount = byteCount
        call.isUnread = isUnread
        call.descriptors = claimed[call.position] ?? []
        // Each member of a batch is scheduled on its own: it must not run before earlier calls of other connections.
        if hasBegun, !isInOrder, let executor = output.executor {
          Task(executorPreference: executor) { [self, call] in startScheduled(call) }
        } else {
          start(call)
        }
        hasBegun = true
      case .rejectedUnread: dispatcher.rejectedUnread()
      case .rejectedMessage(let reason): dispatcher.rejectedMessage(reason)
      case .cancel(let key): state.withLock { $0.running[key] }?.cancel()
      case .write(let text): output.send(text)
      case .resolve(let key, let result):
        state.withLock { $0.waiters.removeValue(forKey: key) }?.resume(with: result.mapError { $0 as any Error })
      case .close: state.withLock { $0.isCloseDue = true }
      }
    }
  }

  /// Whether one of the calls decides about those behind it.
  private func bindsWhatFollows(_ actions: [ConnectionStateMachine.Action]) -> Bool {
    // Nearly always there is one action, and with it nothing that follows.
    actions.count > 1
      && actions.contains { action in
        guard case .invoke(let call) = action else { return false }
        return dispatcher.bindsWhatFollows(call.method)
      }
  }

  /// Starts a call that had to wait for the executor, unless it was cancelled meanwhile.
  private func startScheduled(_ call: Call) {
    guard !state.withLock({ $0.machine.isAbandoned(call.key) }) else {
      finish(call.key, with: .failure(RPCFault(.requestCancelled)))
      return
    }
    start(call)
  }

  private func start(_ call: Call) {
    // Only the method keeps the call's params from here on: the tasks below keep the key.
    let key = call.key
    let isLong = call.byteCount >= Self.longText
    let executor = isLong ? output.longWork?() ?? output.executor : output.executor
    var call = call
    call.mustWait = !(output.isReady?() ?? true)
    switch dispatcher.dispatch(call) {
    case .answered(let outcome):
      // Whoever gave rights up without waiting for the answer believes that they are gone.
      if call.id == nil, case .failure(let fault) = outcome, dispatcher.bindsWhatFollows(call.method) {
        finish(with: fault)
      }
      finish(key, with: outcome)
    case .begun(let call):
      note(.begun(call), of: key)
      call.run { [self] outcome in
        if !finishNow(key, with: outcome) {
          Task(executorPreference: executor) { await self.finishInTurn(key, with: outcome) }
        }
      }
    case .work(let work): perform(key, isLong: isLong, executor, work)
    }
  }

  /// Carries out a call in a task.
  private func perform(
    _ key: UInt64, isLong: Bool, _ executor: (any TaskExecutor)?,
    _ work: @escaping @Sendable () async -> Result<RPCResult, RPCFault>
  ) {
    let body: @Sendable () async -> Void = { [self] in
      // A peer that does not read its responses gets no more work done. Never ready means that the
      // connection is ending, and this task is cancelled: the call still comes to its end by itself, and is counted.
      _ = await output.ready?()
      await finishInTurn(key, with: await work())
    }
    // Runs right here up to its first suspension: a call that need not wait, since what it requires is cached, is
    // answered without a hop. One that came in a long text runs where long texts are parsed.
    let task =
      isLong
      ? Task(executorPreference: executor) { await body() }
      : Task.immediate(executorPreference: executor) { await body() }
    note(.task(task), of: key)
  }

  /// Notes down what carries out a call, which may have ended already, or been cancelled.
  private func note(_ running: Running, of key: UInt64) {
    let isLate = state.withLock { state in
      // Only while the machine still counts the call.
      guard state.machine.isWorking(on: key) else { return false }
      state.running[key] = running
      return state.machine.isAbandoned(key)
    }
    if isLate { running.cancel() }
  }

  /// Ends a call and writes its response, behind those that are being written, when the peer keeps up.
  private func finishInTurn(_ key: UInt64, with outcome: Result<RPCResult, RPCFault>) async {
    await delivery.lock()
    _ = await output.ready?()
    await finish(key, with: outcome)?.value
    delivery.unlock()
  }

  /// The same if nothing has to be waited for; false, and nothing is done, otherwise.
  private func finishNow(_ key: UInt64, with outcome: Result<RPCResult, RPCFault>) -> Bool {
    guard delivery.tryLock() else { return false }
    guard output.isReady?() ?? true else {
      delivery.unlock()
      return false
    }
    if let writing = finish(key, with: outcome) {
      Task {
        await writing.value
        delivery.unlock()
      }
    } else {
      delivery.unlock()
    }
    return true
  }

  /// Returns what writes the answer, where it is a long one.
  @discardableResult
  private func finish(_ key: UInt64, with outcome: Result<RPCResult, RPCFault>) -> Task<Void, Never>? {
    var actions: [ConnectionStateMachine.Action] = []
    state.withLock { state in
      state.perform(&actions) { $0.completed(key, with: outcome, &$1) }
      state.running[key] = nil
    }
    return carryOut(actions)
  }
}

extension BegunCall {
  /// Carries the call out and waits for its end. Cancelling the calling task cancels the call.
  public func outcome() async -> Result<RPCResult, RPCFault> {
    await withTaskCancellationHandler {
      await withUnsafeContinuation { continuation in run { continuation.resume(returning: $0) } }
    } onCancel: {
      cancel()
    }
  }
}
