/// Lets a bounded number of operations run at a time, and shares the slots fairly between uids and between the
/// connections of each (`ConcurrencyLimiterState`, with thresholds). An operation that must wait does so in a bounded
/// queue and for a bounded time. While a slot is free for it, nothing waits.
public final class ConcurrencyLimiter: Sendable {
  /// Why an operation may not run.
  public enum Rejection: Error, Sendable {
    /// The queue is full.
    case queueFull
    /// It has waited for the whole `queueTime`.
    case queueTimeExceeded
    /// Its own deadline passed.
    case deadlineExceeded
    /// Its task was cancelled.
    case cancelled
  }

  /// The bounds.
  public struct Limits: Sendable, Hashable {
    /// How many operations may run.
    public var capacity: Int
    /// How many of one uid may run.
    public var capacityPerUID: Int
    /// How many may wait.
    public var queue: Int
    /// How long one waits at most.
    public var queueTime: Duration

    /// Limits of the given parts.
    public init(capacity: Int = .max, capacityPerUID: Int = .max, queue: Int, queueTime: Duration) {
      self.capacity = capacity
      self.capacityPerUID = capacityPerUID
      self.queue = queue
      self.queueTime = queueTime
    }

    fileprivate var slots: Slots.Limits {
      Slots.Limits(
        capacity: capacity, capacityPerUID: capacityPerUID, queue: queue, sharing: .thresholds(perConnection: true))
    }
  }

  fileprivate typealias Slots = ConcurrencyLimiterState<OneKey, Waiter>

  fileprivate enum OneKey: Sendable { case key }

  fileprivate struct Waiter: Sendable {
    let queueEnd: MonotonicInstant
    let deadline: MonotonicInstant?
    /// Filled with nil when it may run.
    let reply = Reply<Rejection?>()
  }

  private struct State {
    var slots: Slots
    var queueTime: Duration
    var nextNumber: UInt64 = 0
    /// Whether a task compares the waiters' times with the clock.
    var isSweeping = false

    mutating func admit() -> [Waiter] {
      var admitted: [Waiter] = []
      while let next = slots.next() { admitted.append(next.waiter) }
      return admitted
    }
  }

  private let state: Locked<State>
  private let clock: any EngineClock
  /// How often the waiters' times are compared with the clock.
  private static let sweepInterval = Duration.milliseconds(20)

  /// A limiter whose slots are all free.
  public init(_ limits: Limits, clock: any EngineClock) {
    self.clock = clock
    state = Locked(State(slots: Slots(limits.slots), queueTime: limits.queueTime))
  }

  /// How many wait.
  public var waitingCount: Int { state.withLock { $0.slots.waitingCount } }
  /// How many run.
  public var inFlightCount: Int { state.withLock { $0.slots.inFlight } }

  /// Takes a slot if one is free now; `leave` must follow then.
  package func tryEnter(_ peer: PeerID) -> Bool { state.withLock { $0.slots.tryEnter(.key, for: peer) } }

  /// Takes a slot, after waiting for one if need be, and returns how long that took; `leave` must follow.
  @discardableResult
  public func enter(_ peer: PeerID, until deadline: Deadline = .never) async throws(Rejection) -> Duration {
    if tryEnter(peer) { return .zero }
    let arrival = clock.monotonicNow
    let (waiter, waiterID, admitted, mustSweep) = state.withLock { state in
      let waiter = Waiter(queueEnd: arrival + state.queueTime, deadline: deadline.instant)
      state.nextNumber += 1
      let waiterID = state.slots.enqueue(waiter, number: state.nextNumber, .key, for: peer)?.waiterID
      let admitted = state.admit()
      let mustSweep = state.slots.waitingCount > 0 && !state.isSweeping
      if mustSweep { state.isSweeping = true }
      return (waiter, waiterID, admitted, mustSweep)
    }
    Self.resume(admitted)
    if mustSweep { Task { await sweep() } }
    guard let waiterID else { throw .queueFull }
    let rejection = await withTaskCancellationHandler {
      await waiter.reply.value()
    } onCancel: {
      if let waiter = state.withLock({ $0.slots.remove(waiterID) }) { waiter.reply.fill(.cancelled) }
    }
    if let rejection { throw rejection }
    return clock.monotonicNow - arrival
  }

  /// Gives a slot back.
  public func leave(_ peer: PeerID) {
    Self.resume(
      state.withLock { state in
        state.slots.leave(.key, for: peer)
        return state.admit()
      })
  }

  /// Replaces the limits; those that wait keep their queue time.
  public func use(_ limits: Limits) {
    Self.resume(
      state.withLock { state in
        state.slots.limits = limits.slots
        state.queueTime = limits.queueTime
        return state.admit()
      })
  }

  /// Rejects the waiters whose time is over, as long as there are waiters.
  private func sweep() async {
    while true {
      let isCancelled = (try? await clock.sleep(for: Self.sweepInterval)) == nil
      let now = clock.monotonicNow
      let (late, isOver) = state.withLock { state in
        let late = state.slots.removeAll { waiter, _ in
          isCancelled || waiter.queueEnd <= now || waiter.deadline.map { $0 <= now } ?? false
        }
        state.isSweeping = state.slots.waitingCount > 0
        return (late, !state.isSweeping)
      }
      for waiter in late {
        let hasDeadlinePassed = waiter.deadline.map { $0 <= now } ?? false
        waiter.reply.fill(hasDeadlinePassed ? .deadlineExceeded : .queueTimeExceeded)
      }
      if isOver { return }
    }
  }

  private static func resume(_ admitted: [Waiter]) { for waiter in admitted { waiter.reply.fill(nil) } }
}

extension ConcurrencyLimiter: ConciseStringConvertible {
  /// How many operations run, and how many wait.
  public var description: String { "\(inFlightCount) in flight, \(waitingCount) waiting" }
}

extension ConcurrencyLimiter.Limits: ConciseStringConvertible {
  /// The capacities.
  public var description: String {
    "capacity \(Concise.capacity(capacity)), per uid \(Concise.capacity(capacityPerUID)), queue \(queue) for \(queueTime)"
  }
}
