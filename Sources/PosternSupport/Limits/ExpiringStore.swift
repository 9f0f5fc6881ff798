/// Values that are kept for their uid under a name that is valid once: for a time, and bounded in number and bytes, for
/// each holder, each uid and all together. What one uid has is at most three times what it leaves free (`FairShare`), so
/// that a few do not take all of it.
///
/// A uid's values have holders: the sessions of an application's users, who share the uid. Each holder has a share for
/// each outermost level. The newest value of a full share replaces one of the largest group of the share: at each level
/// these are the values of that level itself, and those below each level that was made through it. So a program with
/// fewer rights does not displace the values of the program that gave it those, nor those of its siblings. A uid at its limit loses the oldest value of the holder with
/// the most values, in the largest of that holder's shares: one holder's values, however many, do not keep out another's.
/// A value is rejected if removing values of its own uid cannot make room for it: other uids' values are never replaced.
///
/// In memory only. Callers choose the names, which must not be guessable.
public final class ExpiringStore<Value: Sendable>: Sendable {
  /// The bounds.
  public struct Limits: Sendable {
    /// How many values.
    public let capacity: Int
    /// How many values of one uid.
    public let capacityPerUID: Int
    /// How many values of one holder at one level, where the holder has a name.
    public let capacityPerHolder: Int
    /// How many bytes.
    public let maxBytes: Int
    /// How many bytes of one uid.
    public let maxBytesPerUID: Int
    /// How long `extend` still finds an expired value, as long as its capacity is not needed.
    public let grace: Duration

    /// Limits of the given parts.
    public init(
      capacity: Int, capacityPerUID: Int, capacityPerHolder: Int, maxBytes: Int, maxBytesPerUID: Int,
      grace: Duration = .zero
    ) {
      self.capacity = capacity
      self.capacityPerUID = capacityPerUID
      self.capacityPerHolder = max(1, capacityPerHolder)
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

  fileprivate struct Holder: Hashable {
    /// Nil: shared by all values without a holder.
    let name: String?
    let level: String?
  }

  fileprivate struct Entry {
    let value: Value
    let uid: UInt32
    let holder: Holder
    /// The levels through which it was put here, the outermost first; the first is the holder's.
    let path: [String]
    let byteCount: Int
    let lifetime: Duration
    var expiry: MonotonicInstant
  }

  /// The values of one holder at one level.
  private struct Holding {
    var order = ArrivalOrder<String>()
    var bytes = 0
    /// The number of the oldest one.
    var oldest: Int64 = 0
  }

  private struct Contents {
    var entries: [String: Entry] = [:]
    var counts: [UInt32: Int] = [:]
    var holdings: [UInt32: [Holder: Holding]] = [:]
    var bytes: SharedBudget
    private var lastNumber: Int64 = 0
    /// Before this instant nothing expires.
    private var firstExpiry: MonotonicInstant?

    init(bytes: SharedBudget) { self.bytes = bytes }

    @discardableResult
    mutating func remove(_ name: String) -> Entry? {
      guard let entry = entries.removeValue(forKey: name) else { return nil }
      let left = (counts[entry.uid] ?? 1) - 1
      counts[entry.uid] = left > 0 ? left : nil
      bytes.giveBack(entry.byteCount, for: entry.uid)
      change(entry) { holding in
        holding.order.remove(name)
        holding.bytes -= entry.byteCount
      }
      if left <= 0 { holdings[entry.uid] = nil }
      return entry
    }

    mutating func put(_ entry: Entry, _ name: String) {
      remove(name)
      entries[name] = entry
      counts[entry.uid, default: 0] += 1
      bytes.add(entry.byteCount, for: entry.uid)
      lastNumber += 1
      change(entry) { [lastNumber] holding in
        holding.order.add(name, number: lastNumber)
        holding.bytes += entry.byteCount
      }
      firstExpiry = firstExpiry.map { min($0, entry.expiry) } ?? entry.expiry
    }

    private mutating func change(_ entry: Entry, _ body: (inout Holding) -> Void) {
      var holding = holdings[entry.uid]?[entry.holder] ?? Holding()
      // Not in two places while it changes, so that it is not copied.
      holdings[entry.uid]?[entry.holder] = nil
      body(&holding)
      guard let first = holding.order.first() else { return }
      holding.oldest = first.number
      holdings[entry.uid, default: [:]][entry.holder] = holding
    }

    mutating func dropExpired(at instant: MonotonicInstant) {
      guard let firstExpiry, firstExpiry <= instant else { return }
      let expired = entries.lazy.filter { $0.value.expiry <= instant }.map(\.key)
      for name in Array(expired) { remove(name) }
      self.firstExpiry = entries.values.lazy.map(\.expiry).min()
    }

    func count(ofHolderOf entry: Entry) -> Int { holdings[entry.uid]?[entry.holder]?.order.count ?? 0 }

    /// Whether `entry` fits without replacing another one.
    func hasCapacity(for entry: Entry, within limits: Limits) -> Bool {
      hasCapacity(inHolding: entry, within: limits) && hasCapacity(inNumber: entry, within: limits)
        && bytes.allows(entry.byteCount, for: entry.uid)
    }

    private func hasCapacity(inHolding entry: Entry, within limits: Limits) -> Bool {
      entry.holder.name == nil || count(ofHolderOf: entry) < limits.capacityPerHolder
    }

    private func hasCapacity(inNumber entry: Entry, within limits: Limits) -> Bool {
      let own = counts[entry.uid] ?? 0
      return own < limits.capacityPerUID && FairShare.allows(own, free: limits.capacity - entries.count)
    }

    /// Removes what `entry` replaces; false, and nothing is removed, where all of its uid's would not be enough.
    mutating func makeRoom(for entry: Entry, within limits: Limits) -> Bool {
      let own = (count: counts[entry.uid] ?? 0, bytes: bytes.amount(of: entry.uid))
      // One that takes the place of others adds nothing to what its uid has.
      guard own.count > 0 || hasCapacity(inNumber: entry, within: limits),
        own.bytes >= entry.byteCount || bytes.allows(entry.byteCount, for: entry.uid, givenBack: own.bytes)
      else { return false }
      while !hasCapacity(inHolding: entry, within: limits), let name = displaced(by: entry) { remove(name) }
      if counts[entry.uid] == own.count, !hasCapacity(inNumber: entry, within: limits) {
        removeOldest(of: holder(of: entry.uid) { $0.order.count }, entry.uid)
      }
      while !bytes.allows(entry.byteCount, for: entry.uid),
        own.bytes - bytes.amount(of: entry.uid) < entry.byteCount
      {
        removeOldest(of: holder(of: entry.uid) { $0.bytes }, entry.uid)
      }
      return true
    }

    /// The oldest value of the largest group of the full share of `entry`, with `entry` counted in its own group.
    private func displaced(by entry: Entry) -> String? {
      let order = holdings[entry.uid]?[entry.holder]?.order
      var names = order?.names(after: .min, atMost: .max).map(\.name) ?? []
      var depth = 1
      while true {
        func group(_ path: [String]) -> String? { path.count > depth ? path[depth] : nil }
        // In the order of their oldest values, which decides among equals.
        var groups: [(group: String?, names: [String])] = []
        for name in names {
          let group = group(entries[name]?.path ?? [])
          if let index = groups.firstIndex(where: { $0.group == group }) {
            groups[index].names.append(name)
          } else {
            groups.append((group, [name]))
          }
        }
        let own = group(entry.path)
        let isIn = entry.path.count >= depth
        func size(_ index: Int) -> Int { groups[index].names.count + (isIn && groups[index].group == own ? 1 : 0) }
        guard let largest = groups.indices.max(by: { (size($0), $1) < (size($1), $0) }) else { return nil }
        names = groups[largest].names
        guard groups[largest].group != nil else { return names.first }
        depth += 1
      }
    }

    /// The holder of `uid` that has the most, at its level with the most; among equals the one with the oldest value.
    private func holder(of uid: UInt32, _ amount: (Holding) -> Int) -> Holder? {
      let own = holdings[uid] ?? [:]
      let whole = own.reduce(into: [String?: (amount: Int, oldest: Int64)]()) { whole, one in
        let before = whole[one.key.name]
        whole[one.key.name] = (
          (before?.amount ?? 0) + amount(one.value), min(before?.oldest ?? .max, one.value.oldest)
        )
      }
      func isLess(_ left: (amount: Int, oldest: Int64), _ right: (amount: Int, oldest: Int64)) -> Bool {
        (left.amount, right.oldest) < (right.amount, left.oldest)
      }
      guard let most = whole.max(by: { isLess($0.value, $1.value) }) else { return nil }
      return own.filter { $0.key.name == most.key }.max {
        isLess((amount($0.value), $0.value.oldest), (amount($1.value), $1.value.oldest))
      }?.key
    }

    private mutating func removeOldest(of holder: Holder?, _ uid: UInt32) {
      if let holder, let first = holdings[uid]?[holder]?.order.first() { remove(first.name) }
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

  /// Keeps `value`, of `byteCount` bytes, for `lifetime`. `path` lists the levels of the call that keeps it, the outermost
  /// first; the value counts towards the share of `holder` and the outermost level. Returns false if there is no room.
  /// Values that it replaces are treated as expired.
  public func keep(
    _ value: Value, as name: String, of uid: UInt32, holder: String? = nil, path: [String] = [], byteCount: Int,
    for lifetime: Duration
  ) -> Bool {
    let now = clock.monotonicNow
    let entry = Entry(
      value: value, uid: uid, holder: Holder(name: holder, level: path.first), path: path, byteCount: byteCount,
      lifetime: lifetime,
      expiry: now + lifetime)
    return contents.withLock { contents in
      contents.dropExpired(at: now + (.zero - limits.grace))
      if !contents.hasCapacity(for: entry, within: limits) { contents.dropExpired(at: now) }
      guard
        contents.hasCapacity(for: entry, within: limits) || contents.makeRoom(for: entry, within: limits)
      else { return false }
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
    "at most \(capacity) values, \(capacityPerUID) per uid, \(capacityPerHolder) per holder, "
      + "\(maxBytes) bytes, \(maxBytesPerUID) per uid"
  }
}

extension ExpiringStore.Taken: ConciseStringConvertible {
  /// Without name and value, which may be secret.
  public var description: String { "a value" }
}
