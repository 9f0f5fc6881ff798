/// What waits for its owner under a name that is good once: for a time, and bounded in number and bytes, for each owner
/// and all together. What is one owner's is at most three times what it leaves free (`FairShare`), so that a few do not
/// take everybody's room.
///
/// In memory only. Names are given by whoever keeps something here, and must not be guessable.
public final class WaitingRoom<Value: Sendable>: Sendable {
  /// How much may wait.
  public struct Limits: Sendable {
    /// How many all together.
    public let most: Int
    /// How many of one owner.
    public let mostOfOne: Int
    /// How many bytes all together.
    public let maxBytes: Int
    /// How many bytes of one owner: nobody takes all the room.
    public let maxBytesOfOne: Int
    /// How long what is over is still there for `prolong`, as long as nobody needs its room.
    public let margin: Duration

    /// Limits.
    public init(most: Int, mostOfOne: Int, maxBytes: Int, maxBytesOfOne: Int, margin: Duration = .zero) {
      self.most = most
      self.mostOfOne = mostOfOne
      self.maxBytes = maxBytes
      self.maxBytesOfOne = maxBytesOfOne
      self.margin = margin
    }
  }

  /// What was taken, and can be put back.
  public struct Taken: Sendable {
    fileprivate let name: String
    fileprivate let entry: Entry

    /// What had waited.
    public var value: Value { entry.value }
  }

  fileprivate struct Entry {
    let value: Value
    let owner: UInt32
    let byteCount: Int
    let life: Duration
    var expiry: MonotonicInstant
  }

  private struct Contents {
    var entries: [String: Entry] = [:]
    var byteCount = 0

    @discardableResult
    mutating func remove(_ name: String) -> Entry? {
      guard let entry = entries.removeValue(forKey: name) else { return nil }
      byteCount -= entry.byteCount
      return entry
    }

    mutating func put(_ entry: Entry, _ name: String) {
      remove(name)
      entries[name] = entry
      byteCount += entry.byteCount
    }

    mutating func dropExpired(at instant: MonotonicInstant) {
      for (name, entry) in entries where entry.expiry <= instant { remove(name) }
    }

    func hasRoom(for entry: Entry, within limits: Limits) -> Bool {
      let own = entries.values.filter { $0.owner == entry.owner }
      let ownBytes = own.reduce(0) { $0 + $1.byteCount }
      return own.count < limits.mostOfOne && ownBytes + entry.byteCount <= limits.maxBytesOfOne
        && FairShare.allows(own.count, free: limits.most - entries.count)
        && FairShare.allows(ownBytes + entry.byteCount, free: limits.maxBytes - byteCount - entry.byteCount)
    }
  }

  private let limits: Limits
  private let clock: any EngineClock
  private let contents = Locked(Contents())

  /// An empty one.
  public init(_ limits: Limits, clock: any EngineClock) {
    self.limits = limits
    self.clock = clock
  }

  /// How many wait.
  public var count: Int {
    let now = clock.monotonicNow
    return contents.withLock { $0.entries.values.count { $0.expiry > now } }
  }

  /// Keeps `value`, which takes `byteCount` bytes, for `life`; false when there is no room.
  public func keep(_ value: Value, as name: String, of owner: UInt32, byteCount: Int, for life: Duration) -> Bool {
    let now = clock.monotonicNow
    let entry = Entry(value: value, owner: owner, byteCount: byteCount, life: life, expiry: now + life)
    return contents.withLock { contents in
      contents.dropExpired(at: now + (.zero - limits.margin))
      if !contents.hasRoom(for: entry, within: limits) { contents.dropExpired(at: now) }
      guard contents.hasRoom(for: entry, within: limits) else { return false }
      contents.put(entry, name)
      return true
    }
  }

  /// What waits under `name` for `owner`, and goes on waiting.
  public func value(_ name: String, of owner: UInt32) -> Value? {
    let now = clock.monotonicNow
    let entry = contents.withLock { $0.entries[name] }
    return entry.flatMap { $0.owner == owner && $0.expiry > now ? $0.value : nil }
  }

  /// Takes what waits under `name` for `owner`: of several callers one gets it. Another owner's stays.
  public func take(_ name: String, of owner: UInt32) -> Taken? {
    let now = clock.monotonicNow
    return contents.withLock { contents in
      guard contents.entries[name]?.owner == owner, let entry = contents.remove(name), entry.expiry > now else {
        return nil
      }
      return Taken(name: name, entry: entry)
    }
  }

  /// Puts it back under the name it had, for as long as it would have waited.
  public func putBack(_ taken: Taken) { contents.withLock { $0.put(taken.entry, taken.name) } }

  /// Has what waits under `name` for `owner` wait for its whole time again, though it may be over for `late`. False
  /// when it is gone.
  public func prolong(_ name: String, of owner: UInt32, late: Duration = .zero) -> Bool {
    let now = clock.monotonicNow
    return contents.withLock { contents in
      guard let entry = contents.entries[name], entry.owner == owner, entry.expiry + late > now else { return false }
      contents.entries[name]?.expiry = now + entry.life
      return true
    }
  }

  /// Forgets what waits under `name`.
  public func remove(_ name: String) { contents.withLock { _ = $0.remove(name) } }
}
