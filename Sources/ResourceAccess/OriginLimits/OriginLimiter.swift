package import HTTPMessages
package import OAuthClient
package import PosternSupport

/// The limits of resources (`OriginLimits`), applied to each origin of each resource (`OriginSlots`).
///
/// An origin without requests whose breakers are closed is dropped, and beyond a bound so is the one that has been
/// unused for longest.
package final class OriginLimiter: Sendable {
  /// Why a request may not be sent.
  package enum Rejection: Error, Sendable, Equatable {
    /// All slots are in use, and the queue is full.
    case full
    /// The circuit breaker is open, for so long.
    case open(Duration)
    /// The task was cancelled while it waited.
    case cancelled
    /// The deadline passed while it waited.
    case deadlineExceeded
  }

  /// A slot of one origin; to be given back once.
  package struct Slot: Sendable {
    fileprivate let key: Key
    fileprivate let slot: OriginSlot
  }

  /// A resource's origin.
  package struct Key: Hashable, Sendable {
    package let resource: String
    package let origin: HTTPURL.Origin

    package init(resource: String, origin: HTTPURL.Origin) {
      self.resource = resource
      self.origin = origin
    }
  }

  /// A request that needs a slot.
  package struct Waiter: Sendable {
    /// When it must be over; while it is paused this moves.
    package let deadline: @Sendable () -> Deadline
    /// Pauses and resumes it.
    package let control: TransferControl?
    /// The call for which it is sent.
    package var scope: CallScope

    package init(
      deadline: @escaping @Sendable () -> Deadline, control: TransferControl?, scope: CallScope = .process
    ) {
      self.deadline = deadline
      self.control = control
      self.scope = scope
    }

    /// How much time is left; nil: any. The clock is read first: a pause that begins in between does not count.
    fileprivate func remaining(on clock: any EngineClock) -> Duration? {
      let now = clock.monotonicNow
      return deadline().instant.map { max($0 - now, .zero) }
    }
  }

  private typealias Answer = Result<OriginSlot, Rejection>
  private typealias Slots = OriginSlots<Reply<Answer>>

  private struct State {
    var origins: [Key: Slots] = [:]
    var nextNumber: UInt64 = 0
  }

  /// How many origins are kept while they are unused.
  package static let bound = 1024

  private let state = Locked(State())
  private let clock: any EngineClock
  private let observer: any EngineObserver

  package init(clock: any EngineClock, observer: any EngineObserver) {
    self.clock = clock
    self.observer = observer
  }

  /// The state of every origin that is kept.
  package var states: [OriginState] {
    let now = clock.monotonicNow
    return state.withLock { state in
      state.origins.map { key, origin in
        OriginState(
          resource: key.resource, origin: key.origin, inFlight: origin.inFlight, waiting: origin.waitingCount,
          circuit: origin.breakers.circuit(at: now))
      }
    }
  }

  /// Whether `enter` would find a free slot, and not wait for one, or why it would throw. Nothing is changed.
  package func preview(_ key: Key, _ limits: OriginLimits, for peer: PeerID) -> Result<Bool, Rejection> {
    let now = clock.monotonicNow
    return state.withLock { state in
      var slots = state.origins[key] ?? Slots(key, limits: limits)
      slots.limits = limits
      switch slots.enter(for: peer, at: now) {
      case .admitted: return .success(true)
      case .rejected(let rejection): return .failure(rejection)
      case .mustWait:
        let queued = slots.enqueue(Reply(), number: state.nextNumber + 1, for: peer, isReturning: false)
        return queued == nil ? .failure(.full) : .success(false)
      }
    }
  }

  /// Waits for a slot. A request that is paused meanwhile lets those behind it run first, and keeps its queue position.
  package func enter(_ key: Key, _ limits: OriginLimits, _ waiter: Waiter) async throws(Rejection) -> Slot {
    let number = state.withLock { state in
      state.nextNumber += 1
      return state.nextNumber
    }
    var isReturning = false
    while true {
      await waiter.control?.waitUntilResumed()
      guard !Task.isCancelled else { throw .cancelled }
      let answer = await requestSlot(key, limits, waiter, number, isReturning: isReturning)
      switch answer {
      case .failure(.full):
        observer.observe(.fetchRejected(resource: key.resource, because: .overloaded), in: waiter.scope)
      case .failure(.open):
        observer.observe(.fetchRejected(resource: key.resource, because: .breakerOpen), in: waiter.scope)
      default: break
      }
      let slot = Slot(key: key, slot: try answer.get())
      guard waiter.control?.isPaused == true else { return slot }
      leave(slot, .neither, in: waiter.scope)
      isReturning = true
    }
  }

  /// Gives a slot back, with what the exchange shows about the server.
  package func leave(_ slot: Slot, _ verdict: CircuitBreaker.Verdict, in scope: CallScope) {
    let now = clock.monotonicNow
    let change = settle(slot.key, at: now) { $0.leave(slot.slot, verdict, at: now) } ?? nil
    switch change {
    case .opened: observer.observe(.breakerOpened(resource: slot.key.resource, origin: slot.key.origin), in: scope)
    case .closed: observer.observe(.breakerClosed(resource: slot.key.resource, origin: slot.key.origin), in: scope)
    case nil: break
    }
  }

  private func requestSlot(
    _ key: Key, _ limits: OriginLimits, _ waiter: Waiter, _ number: UInt64, isReturning: Bool
  ) async -> Answer {
    let reply = Reply<Answer>()
    let (answer, waiterID) = request(key, limits, waiter.scope.peer, number, isReturning, reply)
    if let answer { return answer }
    guard let waiterID else { return .failure(.full) }
    let watch = Task { await self.watch(key, waiterID, waiter, limits.patience) }
    defer { watch.cancel() }
    return await withTaskCancellationHandler {
      await reply.value()
    } onCancel: {
      reject(key, waiterID, .cancelled)
    }
  }

  /// The answer to a request, or its waiterID in the queue, where `reply` gets the answer later.
  private func request(
    _ key: Key, _ limits: OriginLimits, _ peer: PeerID, _ number: UInt64, _ isReturning: Bool, _ reply: Reply<Answer>
  ) -> (Answer?, Slots.WaiterID?) {
    let now = clock.monotonicNow
    var outcomes: [Slots.Outcome] = []
    let result = change(key) { origin -> (Answer?, Slots.WaiterID?) in
      var present = origin ?? Slots(key, limits: limits)
      defer { origin = present }
      present.limits = limits
      // Time, or other limits, may have freed a slot for those that wait already.
      outcomes = present.settle(at: now)
      switch present.enter(for: peer, at: now) {
      case .admitted(let slot): return (.success(slot), nil)
      case .rejected(let rejection): return (.failure(rejection), nil)
      case .mustWait:
        let queued = present.enqueue(reply, number: number, for: peer, isReturning: isReturning)
        if let displaced = queued?.displaced { outcomes.append((displaced, .failure(.full))) }
        return (nil, queued?.waiterID)
      }
    }
    Self.answer(outcomes)
    return result
  }

  private func reject(_ key: Key, _ waiterID: Slots.WaiterID, _ rejection: Rejection) {
    change(key) { $0?.remove(waiterID) }?.fill(.failure(rejection))
  }

  /// Rejects a waiter whose deadline has passed; a pause stops its time. Each time that other slots may have been in
  /// use for `patience` it also admits who may run then.
  private func watch(_ key: Key, _ waiterID: Slots.WaiterID, _ waiter: Waiter, _ patience: Duration?) async {
    while !Task.isCancelled {
      await waiter.control?.waitUntilResumed()
      let remaining = waiter.remaining(on: clock)
      if remaining == .zero { return reject(key, waiterID, .deadlineExceeded) }
      guard let pause = [remaining, patience.map { max($0, .milliseconds(1)) }].compactMap({ $0 }).min() else { return }
      guard (try? await clock.sleep(for: pause)) != nil else { return }
      settle(key, at: clock.monotonicNow) { _ in }
    }
  }

  /// Changes the origin of `key`, if it is kept, and answers those whose wait that ends.
  @discardableResult
  private func settle<Value>(_ key: Key, at now: MonotonicInstant, _ body: (inout Slots) -> Value) -> Value? {
    var outcomes: [Slots.Outcome] = []
    let value = change(key) { origin -> Value? in
      guard var present = origin else { return nil }
      let value = body(&present)
      outcomes = present.settle(at: now)
      origin = present
      return value
    }
    Self.answer(outcomes)
    return value
  }

  private static func answer(_ outcomes: [Slots.Outcome]) {
    for outcome in outcomes { outcome.waiter.fill(outcome.result) }
  }

  /// Changes one origin, and drops what need not be kept.
  private func change<Value>(_ key: Key, _ body: (inout Slots?) -> Value) -> Value {
    state.withLock { state in
      let isNew = state.origins[key] == nil
      let value = body(&state.origins[key])
      if state.origins[key]?.isIdle == true { state.origins[key] = nil }
      guard isNew, state.origins.count > Self.bound else { return value }
      let oldest = state.origins.lazy.filter { $0.key != key && $0.value.isUnused }.min {
        $0.value.changedAt < $1.value.changedAt
      }
      if let oldest { state.origins[oldest.key] = nil }
      return value
    }
  }
}
