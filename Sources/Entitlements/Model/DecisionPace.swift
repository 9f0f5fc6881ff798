import PosternSupport

/// How fast requests go out: a bound on the rate for each device that they are made for, since that is whom servers
/// count. Those who wait for one device's turns get them by uid, see `DecisionLine`. All of it is behind a lock.
public final class DecisionPace: Sendable {
  /// One that wants to go.
  struct Turn: Sendable, Hashable {
    fileprivate let device: String
    fileprivate let owner: UInt32
    fileprivate let number: UInt64
  }

  private struct State {
    /// For each device when its next request would go if there were no bursts.
    var levels = FairCache<UInt32, String, MonotonicInstant>(capacity: DecisionPace.maxDevices)
    /// Devices for which somebody waits.
    var lines: [String: DecisionLine] = [:]
    var holds = DecisionHolds()
    var nextNumber: UInt64 = 0

    /// The next request for `device` would go at `level`. A device is that uid's which named it first, and the
    /// sidecar's own nobody's.
    mutating func set(_ level: MonotonicInstant, for device: String, of owner: UInt32) {
      guard levels.change(device, { $0 = level }) == nil else { return }
      levels.set(level, for: device, of: device.isEmpty ? Requester.process.uid : owner)
    }
  }

  /// How many devices are told apart; of the uid that named most of them the one that was longest not heard of begins
  /// anew.
  private static let maxDevices = 4096
  /// How long everybody is held back at most.
  private static let longestForAll = Duration.seconds(30)

  private let interval: Duration
  /// How much earlier than that requests may go.
  private let tolerance: Duration
  private let state = Locked(State())

  /// `perSecond` requests in the long run, `burst` at once after a pause.
  public init(perSecond: Double, burst: Int) {
    interval = .nanoseconds(Int64(1_000_000_000 / max(perSecond, 0.001)))
    tolerance = interval * (max(1, burst) - 1)
  }

  /// One of `owner` comes; it must `wait` until there is nothing to wait for, or `leave`. `device` is empty for the
  /// sidecar's own.
  func come(for owner: UInt32, device: String = "") -> Turn {
    state.withLock { state in
      state.nextNumber += 1
      state.lines[device, default: DecisionLine()].come(owner, state.nextNumber)
      return Turn(device: device, owner: owner, number: state.nextNumber)
    }
  }

  /// For how long it has to wait, as things stand: others may come before it, and it has to ask again then. Zero: it
  /// goes, and is in the line no more.
  func wait(_ turn: Turn, at now: MonotonicInstant) -> Duration {
    state.withLock { state in
      let next = max(state.levels[turn.device] ?? now, now)
      let line = state.lines[turn.device] ?? DecisionLine()
      let own = state.holds.level(of: turn.owner, turn.device, at: now)
      let ahead = line.ahead(of: turn.owner, turn.number, held: held(line, turn.device, at: now, &state.holds))
      var wait = next - now + interval * ahead - tolerance
      if let own { wait = max(wait, own - now + interval * line.rank(of: turn.owner, turn.number) - tolerance) }
      guard wait <= .zero else { return wait }
      state.set(next + interval, for: turn.device, of: turn.owner)
      if let own { state.holds.raise(turn.owner, turn.device, to: own + interval) }
      Self.leave(turn, goes: true, &state)
      return .zero
    }
  }

  /// Who of `line` cannot go now, whoever else does.
  private func held(
    _ line: DecisionLine, _ device: String, at now: MonotonicInstant, _ holds: inout DecisionHolds
  ) -> Set<UInt32> {
    guard !holds.isEmpty else { return [] }
    var held: Set<UInt32> = []
    for owner in line.owners {
      if let level = holds.level(of: owner, device, at: now), level - now > tolerance { held.insert(owner) }
    }
    return held
  }

  /// It does not want to go any more.
  func leave(_ turn: Turn) {
    state.withLock { Self.leave(turn, goes: false, &$0) }
  }

  /// The server has had enough of what `owner` asks: nothing of that uid goes out for `pause`, and not more than one at
  /// its end. Everybody's waits for a while when the server says so to a second uid, or about what is nobody's.
  func hold(_ owner: UInt32, for pause: Duration, at now: MonotonicInstant, device: String = "") {
    state.withLock { state in
      let isShared = owner == Requester.process.uid
      if !isShared { state.holds.raise(owner, device, to: now + pause + tolerance) }
      guard isShared || state.holds.refuse(owner, device, at: now) else { return }
      let level = now + min(pause, Self.longestForAll) + tolerance
      state.set(max(state.levels[device] ?? level, level), for: device, of: owner)
    }
  }

  private static func leave(_ turn: Turn, goes: Bool, _ state: inout State) {
    guard var line = state.lines.removeValue(forKey: turn.device) else { return }
    line.leave(turn.owner, turn.number, goes: goes)
    if !line.isEmpty { state.lines[turn.device] = line }
  }
}
