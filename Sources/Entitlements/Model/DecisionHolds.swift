import PosternSupport

/// Whom a decision point has told to wait (429), for each device that requests are made for. The uid itself, since it
/// may be what that one asks for that is too much; what two uids are told shortly after each other is about all of
/// them.
///
/// A value: `DecisionPace` guards it.
struct DecisionHolds: Sendable {
  private struct Key: Sendable, Hashable {
    let device: String
    let owner: UInt32
  }

  private struct Refusal: Sendable {
    let owner: UInt32
    let at: MonotonicInstant
  }

  /// How far apart two uids are told that at most.
  private static let window = Duration.seconds(30)
  private static let capacity = 4096

  /// When the next request of a uid would go if there were no bursts.
  private var levels = FairCache<UInt32, Key, MonotonicInstant>(capacity: capacity)
  /// Who was told last, by device.
  private var refusals = FairCache<UInt32, String, Refusal>(capacity: capacity)

  /// Whether nobody was told.
  var isEmpty: Bool { levels.count == 0 }

  /// When the next request of `owner` would go; nil: as soon as anybody's.
  mutating func level(of owner: UInt32, _ device: String, at now: MonotonicInstant) -> MonotonicInstant? {
    let key = Key(device: device, owner: owner)
    guard let level = levels[key] else { return nil }
    guard level > now else {
      levels.remove(key)
      return nil
    }
    return level
  }

  /// The next request of `owner` would go at `level`, not earlier.
  mutating func raise(_ owner: UInt32, _ device: String, to level: MonotonicInstant) {
    let key = Key(device: device, owner: owner)
    levels.set(max(levels[key] ?? level, level), for: key, of: owner)
  }

  /// `owner` was told to wait. True when another uid was, too, a moment ago; each counts once.
  mutating func refuse(_ owner: UInt32, _ device: String, at now: MonotonicInstant) -> Bool {
    if let last = refusals[device], last.owner != owner, now - last.at <= Self.window {
      refusals.remove(device)
      return true
    }
    refusals.set(Refusal(owner: owner, at: now), for: device, of: owner)
    return false
  }
}
