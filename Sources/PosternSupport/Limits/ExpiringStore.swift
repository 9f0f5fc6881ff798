/// Values that are kept for their uid under a name that is valid once: for a time, and bounded in number and bytes, for
/// each uid and all together. What one uid has is at most three times what it leaves free (`FairShare`), so that a few
/// do not take all of it. Unlike `FairCache` it rejects a value rather than dropping another one: each is needed.
///
/// In memory only. Callers choose the names, which must not be guessable.
public final class ExpiringStore<Value: Sendable>: Sendable {
  /// The bounds.
  public struct Limits: Sendable {
    /// How many values.
    public let capacity: Int
    /// How many values of one uid.
    public let capacityPerUID: Int
    /// How many bytes.
    public let maxBytes: Int
    /// How many bytes of one uid.
    public let maxBytesPerUID: Int
    /// How long `extend` still finds an expired value, as long as its capacity is not needed.
    public let grace: Duration

    /// Limits of the given parts.
    public init(capacity: Int, capacityPerUID: Int, maxBytes: Int, maxBytesPerUID: Int, grace: Duration = .zero) {
      self.capacity = capacity
      self.capacityPerUID = capacityPerUID
      self.maxBytes = maxBytes
      self.maxBytesPerUID = maxBytesPerUID
      self.grace = grace
    }
  }

  /// A value that was taken, and can be put back.
  public struct Taken: Sendable {
    fileprivate let name: String
    fileprivate let entry: Entry

    /// The value.
    public var value: Value { entry.value }
  }

  fileprivate struct Entry {
    let value: Value
    let uid: UInt32
    let byteCount: Int
    let lifetime: Duration
    var expiry: MonotonicInstant
  }

  private struct Contents {
    var entries: [String: Entry] = [:]
    var counts: [UInt32: Int] = [:]
    var bytes: SharedBudget

    @discardableResult
    mutating func remove(_ name: String) -> Entry? {
      guard let entry = entries.removeValue(forKey: name) else { return nil }
      let left = (counts[entry.uid] ?? 1) - 1
      counts[entry.uid] = left > 0 ? left : nil
      bytes.giveBack(entry.byteCount, for: entry.uid)
      return entry
    }

    mutating func put(_ entry: Entry, _ name: String) {
      remove(name)
      entries[name] = entry
      counts[entry.uid, default: 0] += 1
      bytes.add(entry.byteCount, for: entry.uid)
    }

    mutating func dropExpired(at instant: MonotonicInstant) {
      for (name, entry) in entries where entry.expiry <= instant { remove(name) }
    }

    func hasCapacity(for entry: Entry, within limits: Limits) -> Bool {
      let own = counts[entry.uid] ?? 0
      return own < limits.capacityPerUID && FairShare.allows(own, free: limits.capacity - entries.count)
        && bytes.allows(entry.byteCount, for: entry.uid)
    }
  }

  private let limits: Limits
  private let clock: any EngineClock
  private let contents: Locked<Contents>

  /// An empty store.
  public init(_ limits: Limits, clock: any EngineClock) {
    self.limits = limits
    self.clock = clock
    contents = Locked(
      Contents(bytes: SharedBudget(capacity: limits.maxBytes, capacityPerUID: limits.maxBytesPerUID)))
  }

  /// How many values have not expired.
  public var count: Int {
    let now = clock.monotonicNow
    return contents.withLock { $0.entries.values.count { $0.expiry > now } }
  }

  /// Keeps `value`, which takes `byteCount` bytes, for `lifetime`; false when there is no capacity for it.
  public func keep(_ value: Value, as name: String, of uid: UInt32, byteCount: Int, for lifetime: Duration) -> Bool {
    let now = clock.monotonicNow
    let entry = Entry(value: value, uid: uid, byteCount: byteCount, lifetime: lifetime, expiry: now + lifetime)
    return contents.withLock { contents in
      contents.dropExpired(at: now + (.zero - limits.grace))
      if !contents.hasCapacity(for: entry, within: limits) { contents.dropExpired(at: now) }
      guard contents.hasCapacity(for: entry, within: limits) else { return false }
      contents.put(entry, name)
      return true
    }
  }

  /// The value of `uid` under `name`, which stays.
  public func value(_ name: String, of uid: UInt32) -> Value? {
    let now = clock.monotonicNow
    let entry = contents.withLock { $0.entries[name] }
    return entry.flatMap { $0.uid == uid && $0.expiry > now ? $0.value : nil }
  }

  /// Takes the value of `uid` under `name`: of several callers one gets it. Another uid's stays.
  public func take(_ name: String, of uid: UInt32) -> Taken? {
    let now = clock.monotonicNow
    return contents.withLock { contents in
      guard contents.entries[name]?.uid == uid, let entry = contents.remove(name), entry.expiry > now else {
        return nil
      }
      return Taken(name: name, entry: entry)
    }
  }

  /// Puts a value back under its name, until its previous expiry.
  public func putBack(_ taken: Taken) { contents.withLock { $0.put(taken.entry, taken.name) } }

  /// Gives the value of `uid` under `name` its whole lifetime again, though it may have expired for `late`. False when
  /// it is not there any more.
  public func extend(_ name: String, of uid: UInt32, late: Duration = .zero) -> Bool {
    let now = clock.monotonicNow
    return contents.withLock { contents in
      guard let entry = contents.entries[name], entry.uid == uid, entry.expiry + late > now else { return false }
      contents.entries[name]?.expiry = now + entry.lifetime
      return true
    }
  }

  /// Removes the value under `name`.
  public func remove(_ name: String) { contents.withLock { _ = $0.remove(name) } }
}

extension ExpiringStore: ConciseStringConvertible {
  /// The number of values: they may be secret.
  public var description: String { Concise.count(count, "value") }
}

extension ExpiringStore.Limits: ConciseStringConvertible {
  /// The capacities.
  public var description: String {
    "at most \(capacity) values, \(capacityPerUID) per uid, \(maxBytes) bytes, \(maxBytesPerUID) per uid"
  }
}

extension ExpiringStore.Taken: ConciseStringConvertible {
  /// Without name and value, which may be secret.
  public var description: String { "a value" }
}
