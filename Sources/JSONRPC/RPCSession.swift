public import JSON
import Support

/// One connection's conversation: drives `SessionMachine`, runs the calls, writes the answers.
///
/// `receive`, `endInput`, `drain` and `close` come from the transport, in order; calls end on any thread. The machine is
/// guarded by its lock, actions are carried out after it is released.
public final class RPCSession: Sendable {
  /// Where the answers go. Both closures may be called from any thread.
  public struct Output: Sendable {
    /// Sends one text; the transport frames it. The bytes are valid during the call only.
    public let write: @Sendable (UnsafeRawBufferPointer) -> Void
    /// Closes once everything written has left.
    public let close: @Sendable () -> Void
    /// Waits until the peer keeps up with what is written for it; false when the connection is closing or the task was cancelled. Nil: it
    /// always keeps up.
    public let ready: (@Sendable () async -> Bool)?
    /// Where calls that wait are run; nil: on the shared pool. On the transport's own thread an answer needs no hop.
    public let executor: (any TaskExecutor)?

    /// An output of the given parts.
    public init(
      executor: (any TaskExecutor)? = nil, ready: (@Sendable () async -> Bool)? = nil,
      write: @escaping @Sendable (UnsafeRawBufferPointer) -> Void, close: @escaping @Sendable () -> Void
    ) {
      self.ready = ready
      self.executor = executor
      self.write = write
      self.close = close
    }
  }

  private struct State {
    var machine: SessionMachine
    var tasks: [UInt64: Task<Void, Never>] = [:]
    /// Who waits for the caller's answer to a request of ours.
    var waiters: [UInt64: CheckedContinuation<JSONValue, any Error>] = [:]
  }

  private let state: Locked<State>
  private let dispatcher: any CallDispatcher
  private let output: Output
  private let parser: JSONParser
  private let turn = DeliveryTurn()

  /// A conversation that has not begun.
  public init(limits: SessionLimits, dispatcher: any CallDispatcher, output: Output) {
    state = Locked(State(machine: SessionMachine(limits: limits)))
    self.dispatcher = dispatcher
    self.output = output
    parser = JSONParser(maxBytes: limits.messageBytes, maxDepth: limits.depth, allowsNUL: true, allowsScalar: true)
  }

  /// How many calls are being worked on.
  public var inFlightCount: Int { state.withLock { $0.machine.inFlightCount } }

  /// How many requests of ours the caller has not answered.
  public var openQuestionCount: Int { state.withLock { $0.waiters.count } }

  /// The transport delivered one complete text; the bytes are needed during the call only.
  public func receive(text: UnsafeRawBufferPointer, sharesLine: Bool) {
    let parsed: Result<JSONValue, JSONParseError>
    do {
      parsed = .success(try parser.parse(text))
    } catch {
      parsed = .failure(error)
    }
    perform(text.count) { $0.receive(.text(parsed, sharesLine: sharesLine), &$1) }
  }

  /// The transport delivered something.
  public func receive(_ input: SessionInput) { perform { $0.receive(input, &$1) } }

  /// The caller closed its sending side.
  public func endInput() { perform { $0.endInput(&$1) } }

  /// No new requests; closes when the pending ones are answered.
  public func drain() { perform { $0.drain(&$1) } }

  /// There is no more time: what is pending is answered `shutting_down` and stopped, and the connection closes.
  public func finish() { perform { $0.finish(&$1) } }

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

  /// Sends a notification of ours when the peer keeps up with what was written for it before; false when the connection is ending.
  public func notifyInTurn(_ method: String, _ params: JSONValue) async -> Bool {
    await turn.take()
    defer { turn.leave() }
    guard await output.ready?() ?? true else { return false }
    notify(method, params)
    return true
  }

  /// Sends the caller a request of ours and waits for its answer. Throws `PeerError` when the caller answers with an error
  /// or cannot answer any more, `CancellationError` when the waiting task is cancelled.
  public func request(_ method: String, _ params: JSONValue) async throws -> JSONValue {
    try Task.checkCancellation()
    let key = Locked<UInt64?>(nil)
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        var actions: [SessionMachine.Action] = []
        let sent = state.withLock { state -> UInt64? in
          guard let sent = state.machine.request(method, params, &actions) else { return nil }
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
    _ byteCount: Int = 0, _ event: (inout SessionMachine, inout [SessionMachine.Action]) -> Void
  ) {
    var actions: [SessionMachine.Action] = []
    state.withLock { event(&$0.machine, &actions) }
    carryOut(actions, byteCount)
  }

  private func carryOut(_ actions: [SessionMachine.Action], _ byteCount: Int = 0) {
    for action in actions {
      switch action {
      case .invoke(var call):
        call.byteCount = byteCount
        start(call)
      case .refusedUnseen: dispatcher.refusedUnseen()
      case .cancel(let key): state.withLock { $0.tasks[key] }?.cancel()
      case .write(let text): text.withBytes(output.write)
      case .resolve(let key, let result):
        state.withLock { $0.waiters.removeValue(forKey: key) }?.resume(with: result.mapError { $0 as any Error })
      case .close: output.close()
      }
    }
  }

  private func start(_ call: Call) {
    // The call's params are the method's alone from here on: whoever waits for it keeps the key only.
    let key = call.key
    switch dispatcher.dispatch(call) {
    case .answered(let outcome):
      finish(key, with: outcome)
    case .work(let work):
      let task = Task(executorPreference: output.executor) { [self] in
        // A peer that does not read what it has asked for gets no more work done. Not ready for good means that the connection is
        // ending, and this task is cancelled: the call still comes to its end by itself, and is counted.
        _ = await output.ready?()
        let outcome = await work()
        await turn.take()
        _ = await output.ready?()
        finish(key, with: outcome)
        turn.leave()
      }
      // The task may have ended already: noted down only while the machine still counts the call.
      let late = state.withLock { state in
        guard state.machine.isWorking(on: key) else { return false }
        state.tasks[key] = task
        return state.machine.isAbandoned(key)
      }
      if late { task.cancel() }
    }
  }

  private func finish(_ key: UInt64, with outcome: Result<RPCResult, RPCFault>) {
    perform { $0.completed(key, with: outcome, &$1) }
    state.withLock { _ = $0.tasks.removeValue(forKey: key) }
  }
}
