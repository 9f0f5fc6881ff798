public import PosternSupport

/// Limits the rate of requests to a decision point for each device in whose name they are sent, since servers count by
/// device. Waiters for one device are served by uid, see `DecisionQueue`. Its state is behind a lock.
public final class DecisionRateLimiter: Sendable {
  /// A request that waits for its slot.
  struct Waiter: Sendable, Hashable {
    fileprivate let device: String
    fileprivate let uid: UInt32
    fileprivate let number: UInt64
  }

  private struct State {
    /// For each device the time of its next request if there were no bursts.
    var levels = FairCache<UInt32, String, MonotonicInstant>(capacity: DecisionRateLimiter.maxDevices)
    /// The queues of devices with waiters.
    var queues: [String: DecisionQueue] = [:]
    var pauses = DecisionPauses()
    var nextNumber: UInt64 = 0

    /// Sets the time of the next request for `device`. A device belongs to the uid that named it first, and the
    /// sidecar's own to no uid.
    mutating func set(_ level: MonotonicInstant, for device: String, of uid: UInt32) {
      guard levels.change(device, { $0 = level }) == nil else { return }
      levels.set(level, for: device, of: device.isEmpty ? PeerID.process.uid : uid)
    }
  }

  /// The number of devices that are tracked; the uid that named most of them loses its least recently used one.
  private static let maxDevices = 4096
  /// The longest pause for all uids.
  private static let longestForAll = Duration.seconds(30)

  private let interval: Duration
  /// The time by which requests of a burst may be earlier.
  private let tolerance: Duration
  private let state = Locked(State())

  /// A limit of `perSecond` requests in the long run, and `burst` at once after a pause.
  public init(perSecond: Double, burst: Int) {
    interval = .nanoseconds(Int64(1_000_000_000 / max(perSecond, 0.001)))
    tolerance = interval * (max(1, burst) - 1)
  }

  /// Adds a request of `uid` to the queue; it must call `wait` until that returns zero, or `leave`. `device` is empty
  /// for the sidecar's own.
  func enqueue(for uid: UInt32, device: String = "") -> Waiter {
    state.withLock { state in
      state.nextNumber += 1
      state.queues[device, default: DecisionQueue()].enqueue(uid, state.nextNumber)
      return Waiter(device: device, uid: uid, number: state.nextNumber)
    }
  }

  /// Returns how long the request has to wait for now: others may come before it, and it has to call again then. Zero:
  /// it may be sent, and has left the queue.
  func wait(_ waiter: Waiter, at now: MonotonicInstant) -> Duration {
    state.withLock { state in
      let next = max(state.levels[waiter.device] ?? now, now)
      let queue = state.queues[waiter.device] ?? DecisionQueue()
      let own = state.pauses.level(of: waiter.uid, waiter.device, at: now)
      let ahead = queue.ahead(
        of: waiter.uid, waiter.number, paused: paused(queue, waiter.device, at: now, &state.pauses))
      var wait = next - now + interval * ahead - tolerance
      if let own { wait = max(wait, own - now + interval * queue.rank(of: waiter.uid, waiter.number) - tolerance) }
      guard wait <= .zero else { return wait }
      state.set(next + interval, for: waiter.device, of: waiter.uid)
      if let own { state.pauses.raise(waiter.uid, waiter.device, to: own + interval) }
      Self.leave(waiter, goes: true, &state)
      return .zero
    }
  }

  /// Returns the uids of `queue` that are paused.
  private func paused(
    _ queue: DecisionQueue, _ device: String, at now: MonotonicInstant, _ pauses: inout DecisionPauses
  ) -> Set<UInt32> {
    guard !pauses.isEmpty else { return [] }
    var paused: Set<UInt32> = []
    for uid in queue.uids {
      if let level = pauses.level(of: uid, device, at: now), level - now > tolerance { paused.insert(uid) }
    }
    return paused
  }

  /// Removes a request that is no longer to be sent.
  func leave(_ waiter: Waiter) {
    state.withLock { Self.leave(waiter, goes: false, &$0) }
  }

  /// Pauses the requests of `uid` after a 429: none is sent for `pause`, and no burst at its end. All uids are paused
  /// for a while when a second uid gets a 429, or a shared request does.
  func pause(_ uid: UInt32, for pause: Duration, at now: MonotonicInstant, device: String = "") {
    state.withLock { state in
      let isShared = uid == PeerID.process.uid
      if !isShared { state.pauses.raise(uid, device, to: now + pause + tolerance) }
      guard isShared || state.pauses.reject(uid, device, at: now) else { return }
      let level = now + min(pause, Self.longestForAll) + tolerance
      state.set(max(state.levels[device] ?? level, level), for: device, of: uid)
    }
  }

  private static func leave(_ waiter: Waiter, goes: Bool, _ state: inout State) {
    guard var queue = state.queues.removeValue(forKey: waiter.device) else { return }
    queue.leave(waiter.uid, waiter.number, goes: goes)
    if !queue.isEmpty { state.queues[waiter.device] = queue }
  }
}

/// The waiting requests for one device: the uids in rotation, the requests of a uid in their order. So the first
/// request of a uid waits for one of each other uid at most, however many these have.
struct DecisionQueue: Sendable {
  /// The waiting requests of each uid in their order.
  private var numbers: [UInt32: [UInt64]] = [:]
  private var rotation = Rotation<UInt32>()

  /// Whether the queue is empty.
  var isEmpty: Bool { numbers.isEmpty }

  /// The uids with waiting requests.
  var uids: Dictionary<UInt32, [UInt64]>.Keys { numbers.keys }

  /// Adds a request of `uid`; later ones have larger numbers.
  mutating func enqueue(_ uid: UInt32, _ number: UInt64) {
    numbers[uid, default: []].append(number)
    rotation.add(uid)
  }

  /// Returns the number of requests of its own uid before it.
  func rank(of uid: UInt32, _ number: UInt64) -> Int { numbers[uid]?.firstIndex(of: number) ?? 0 }

  /// Returns the number of requests before it, without those of the paused uids.
  func ahead(of uid: UInt32, _ number: UInt64, paused: Set<UInt32> = []) -> Int {
    guard let rank = numbers[uid]?.firstIndex(of: number) else { return 0 }
    return numbers.reduce(into: rank) { ahead, other in
      guard other.key != uid, !paused.contains(other.key) else { return }
      ahead += min(other.value.count, rank)
      guard other.value.count > rank else { return }
      if (rotation.position(of: other.key), other.value[rank]) < (rotation.position(of: uid), number) { ahead += 1 }
    }
  }

  /// Removes a request that is sent, which moves its uid back in the rotation, or that gives up.
  mutating func leave(_ uid: UInt32, _ number: UInt64, goes: Bool) {
    guard var left = numbers[uid], let rank = left.firstIndex(of: number) else { return }
    left.remove(at: rank)
    numbers[uid] = left.isEmpty ? nil : left
    rotation.remove(uid, isServed: goes)
  }
}

/// The uids that a decision point has paused by a 429, for each device. A pause is for one uid, since the cause may be
/// that uid's requests; two uids with a 429 shortly after each other show a limit for all of them.
///
/// A value; `DecisionRateLimiter` has it behind a lock.
struct DecisionPauses: Sendable {
  private struct Key: Sendable, Hashable {
    let device: String
    let uid: UInt32
  }

  private struct Rejection: Sendable {
    let uid: UInt32
    let at: MonotonicInstant
  }

  /// The longest time between two such answers.
  private static let window = Duration.seconds(30)
  private static let capacity = 4096

  /// The time of the next request of a uid if there were no bursts.
  private var levels = FairCache<UInt32, Key, MonotonicInstant>(capacity: capacity)
  /// The latest answers with 429, by device.
  private var rejections = FairCache<UInt32, String, Rejection>(capacity: capacity)

  /// Whether no uid is paused.
  var isEmpty: Bool { levels.count == 0 }

  /// Returns the time of the next request of `uid`; nil when it is not paused.
  mutating func level(of uid: UInt32, _ device: String, at now: MonotonicInstant) -> MonotonicInstant? {
    let key = Key(device: device, uid: uid)
    guard let level = levels[key] else { return nil }
    guard level > now else {
      levels.remove(key)
      return nil
    }
    return level
  }

  /// Sets the time of the next request of `uid` to `level`, if it is not later already.
  mutating func raise(_ uid: UInt32, _ device: String, to level: MonotonicInstant) {
    let key = Key(device: device, uid: uid)
    levels.set(max(levels[key] ?? level, level), for: key, of: uid)
  }

  /// Records a 429 for `uid`. True when another uid got one a moment ago; each counts once.
  mutating func reject(_ uid: UInt32, _ device: String, at now: MonotonicInstant) -> Bool {
    if let last = rejections[device], last.uid != uid, now - last.at <= Self.window {
      rejections.remove(device)
      return true
    }
    rejections.set(Rejection(uid: uid, at: now), for: device, of: uid)
    return false
  }
}

extension DecisionRateLimiter: ConciseStringConvertible {
  /// The interval.
  public var description: String { "one request every \(interval)" }
}
