import HTTPMessages
import OAuthClient
import PosternSupport

/// The limits of resources, kept: who may ask an origin now, who waits, and who is refused.
///
/// Each resource counts for itself. An origin of which there is nothing to be remembered is forgotten, and so, beyond a
/// bound, is the one that has been quiet for longest.
final class OriginGate: Sendable {
  /// Why somebody may not go.
  enum Refusal: Error, Sendable, Equatable {
    /// All places are taken, and all in the queue.
    case full
    /// The breaker is open, for so long.
    case open(Duration)
    /// The task was cancelled while it waited.
    case cancelled
    /// The deadline passed while it waited.
    case deadlineExceeded
  }

  /// A place that was given; to be left once.
  struct Place: Sendable {
    fileprivate let key: Key
    fileprivate let pass: OriginPass
  }

  /// A resource's origin.
  struct Key: Hashable, Sendable {
    let resource: String
    let origin: HTTPURL.Origin
  }

  /// One that wants to go: how it waits.
  struct Visitor: Sendable {
    /// When it must be over, what it has been held included.
    let deadline: @Sendable () -> Deadline
    /// The hand on it.
    let control: TransferControl?
    /// For whom it is.
    var requester = Requester.process

    /// How long it may take still; nil for ever. The clock is read first: what it is held between the two does not
    /// count.
    fileprivate func remaining(on clock: any EngineClock) -> Duration? {
      let now = clock.monotonicNow
      return deadline().instant.map { max($0 - now, .zero) }
    }
  }

  private typealias Waiter = CheckedContinuation<Result<OriginPass, Refusal>, Never>

  private struct State {
    var lines: [Key: OriginLine<Waiter>] = [:]
    var nextNumber: UInt64 = 0
  }

  /// The most origins that are remembered while nobody is there.
  static let bound = 1024

  private let state = Locked(State())
  private let clock: any EngineClock
  private let observer: any EngineObserver

  init(clock: any EngineClock, observer: any EngineObserver) {
    self.clock = clock
    self.observer = observer
  }

  /// How every origin stands about which something is known.
  var states: [OriginState] {
    let now = clock.monotonicNow
    return state.withLock { state in
      state.lines.map { key, line in
        OriginState(
          resource: key.resource, origin: key.origin, inFlight: line.inside, waiting: line.waiting.count,
          circuit: line.breakers.circuit(at: now))
      }
    }
  }

  /// Waits for a place. One that is held meanwhile lets those behind it go first, and keeps its place in the queue.
  func enter(_ key: Key, _ limits: OriginLimits, _ visitor: Visitor) async throws(Refusal) -> Place {
    let number = state.withLock { state in
      state.nextNumber += 1
      return state.nextNumber
    }
    var returns = false
    while true {
      await visitor.control?.untilReleased()
      guard !Task.isCancelled else { throw .cancelled }
      let place = Place(key: key, pass: try await pass(key, limits, visitor, number, returns).get())
      guard visitor.control?.isHeld == true else { return place }
      leave(place, .neither)
      returns = true
    }
  }

  /// Gives a place back, with what the exchange says about the server.
  func leave(_ place: Place, _ verdict: CircuitBreaker.Verdict) {
    let now = clock.monotonicNow
    let changed = settle(place.key, at: now) { line in line.leave(place.pass, verdict, at: now) } ?? nil
    switch changed {
    case .opened: observer.observe(.breakerOpened(resource: place.key.resource, origin: place.key.origin))
    case .closed: observer.observe(.breakerClosed(resource: place.key.resource, origin: place.key.origin))
    case nil: break
    }
  }

  private func pass(
    _ key: Key, _ limits: OriginLimits, _ visitor: Visitor, _ number: UInt64, _ returns: Bool
  ) async -> Result<OriginPass, Refusal> {
    if let result = come(key, limits, visitor, number, returns, waitingAs: nil) { return told(result, key) }
    let watch = Task { await self.watch(key, number, visitor, limits.patience) }
    defer { watch.cancel() }
    let result = await withTaskCancellationHandler {
      await withCheckedContinuation { (waiter: Waiter) in
        if let result = come(key, limits, visitor, number, returns, waitingAs: waiter) {
          return waiter.resume(returning: result)
        }
        // The handler below may have run before there was anybody to wake, and so may the watch.
        if Task.isCancelled { giveUp(key, number, .cancelled) }
        if visitor.remaining(on: clock) == .zero { giveUp(key, number, .deadlineExceeded) }
      }
    } onCancel: {
      giveUp(key, number, .cancelled)
    }
    return told(result, key)
  }

  /// What becomes of one that comes; nil when it must wait, and does where there is a `waiter`.
  private func come(
    _ key: Key, _ limits: OriginLimits, _ visitor: Visitor, _ number: UInt64, _ returns: Bool,
    waitingAs waiter: Waiter?
  ) -> Result<OriginPass, Refusal>? {
    let now = clock.monotonicNow
    let (result, settled) = change(key) { line -> (Result<OriginPass, Refusal>?, [OriginLine<Waiter>.Settled]) in
      var present = line ?? OriginLine(limits: limits)
      defer { line = present }
      present.limits = limits
      // Time, or other limits, may have made room for those that are there already.
      var settled = present.settle(at: now)
      switch present.enter(at: now, for: visitor.requester, returns: returns) {
      case .admitted(let pass): return (.success(pass), settled)
      case .refused(let refusal): return (.failure(refusal), settled)
      case .mustWait:
        if let waiter, let displaced = present.wait(waiter, number: number, for: visitor.requester, returns: returns) {
          settled.append(displaced)
        }
        return (nil, settled)
      }
    }
    Self.resume(settled)
    return result
  }

  private func giveUp(_ key: Key, _ number: UInt64, _ refusal: Refusal) {
    change(key) { $0?.giveUp(number) }?.resume(returning: .failure(refusal))
  }

  /// Ends the wait when its time has come; while it is held time stands still. Each time that others' places have had
  /// their time, too, it looks whether that has made room.
  private func watch(_ key: Key, _ number: UInt64, _ visitor: Visitor, _ patience: Duration?) async {
    while !Task.isCancelled {
      await visitor.control?.untilReleased()
      let remaining = visitor.remaining(on: clock)
      if remaining == .zero { return giveUp(key, number, .deadlineExceeded) }
      guard let pause = [remaining, patience.map { max($0, .milliseconds(1)) }].compactMap({ $0 }).min() else { return }
      guard (try? await clock.sleep(for: pause)) != nil else { return }
      settle(key, at: clock.monotonicNow) { _ in }
    }
  }

  /// Changes the line of `key`, if there is one, and wakes those whose wait that has ended.
  @discardableResult
  private func settle<Value>(
    _ key: Key, at now: MonotonicInstant, _ body: (inout OriginLine<Waiter>) -> Value
  ) -> Value? {
    let (value, settled) = change(key) { line -> (Value?, [OriginLine<Waiter>.Settled]) in
      guard var present = line else { return (nil, []) }
      let value = body(&present)
      let settled = present.settle(at: now)
      line = present
      return (value, settled)
    }
    Self.resume(settled)
    return value
  }

  private static func resume(_ settled: [OriginLine<Waiter>.Settled]) {
    for one in settled { one.waiter.resume(returning: one.result) }
  }

  private func told(_ result: Result<OriginPass, Refusal>, _ key: Key) -> Result<OriginPass, Refusal> {
    switch result {
    case .failure(.full): observer.observe(.fetchRefused(resource: key.resource, because: .overloaded))
    case .failure(.open): observer.observe(.fetchRefused(resource: key.resource, because: .breakerOpen))
    default: break
    }
    return result
  }

  /// Changes one line; what need not be remembered of it is forgotten.
  private func change<Value>(_ key: Key, _ body: (inout OriginLine<Waiter>?) -> Value) -> Value {
    state.withLock { state in
      let isNew = state.lines[key] == nil
      let value = body(&state.lines[key])
      if state.lines[key]?.isIdle == true { state.lines[key] = nil }
      guard isNew, state.lines.count > Self.bound else { return value }
      let quietest = state.lines.lazy.filter { $0.key != key && $0.value.isUnused }.min {
        $0.value.changedAt < $1.value.changedAt
      }
      if let quietest { state.lines[quietest.key] = nil }
      return value
    }
  }
}
