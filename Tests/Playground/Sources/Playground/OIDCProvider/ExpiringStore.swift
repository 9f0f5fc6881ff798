import PosternSupport

/// Values under keys, each for a while, never more than a fixed number.
final class ExpiringStore<Value: Sendable>: Sendable {
  private struct Entry {
    var value: Value
    var expiry: MonotonicInstant
  }

  private struct State {
    var entries: [String: Entry] = [:]
    var nextSweep = MonotonicInstant(nanoseconds: 0)
  }

  private let limit: Int
  private let clock: any EngineClock
  private let state = Locked(State())

  /// An empty store of at most `limit` values.
  init(limit: Int = Limits.entries, clock: any EngineClock) {
    self.limit = limit
    self.clock = clock
  }

  /// Keeps `value` under `key` for `lifetime`. False when the key is taken or the store is full of values that still
  /// count.
  func insert(_ value: Value, under key: String, for lifetime: Duration) -> Bool {
    let now = clock.monotonicNow
    return state.withLock { state in
      if let old = state.entries[key], now < old.expiry { return false }
      if state.entries.count >= limit, now >= state.nextSweep {
        state.entries = state.entries.filter { now < $0.value.expiry }
        // A full store is not searched again at every attempt.
        state.nextSweep = now + .seconds(1)
      }
      guard state.entries.count < limit else { return false }
      state.entries[key] = Entry(value: value, expiry: now + lifetime)
      return true
    }
  }

  /// The value under `key`, while it lasts.
  func value(_ key: String) -> Value? { update(key) { $0 } }

  /// Removes the value under `key` and returns it; of several callers one gets it.
  func take(_ key: String) -> Value? {
    let now = clock.monotonicNow
    return state.withLock { state in
      state.entries.removeValue(forKey: key).flatMap { now < $0.expiry ? $0.value : nil }
    }
  }

  /// Changes the value under `key` in one step; nil when there is none.
  func update<Result>(_ key: String, _ change: (inout Value) -> Result) -> Result? {
    let now = clock.monotonicNow
    return state.withLock { state in
      guard var entry = state.entries[key], now < entry.expiry else { return nil }
      defer { state.entries[key] = entry }
      return change(&entry.value)
    }
  }

  /// Keeps the value under `key` for `lifetime` from now on.
  func extend(_ key: String, for lifetime: Duration) {
    let expiry = clock.monotonicNow + lifetime
    state.withLock { $0.entries[key]?.expiry = expiry }
  }

  /// Forgets everything.
  func removeAll() { state.withLock { $0.entries = [:] } }

  /// All values that last, by key.
  var all: [String: Value] {
    let now = clock.monotonicNow
    return state.withLock { $0.entries.filter { now < $0.value.expiry }.mapValues(\.value) }
  }

  /// The key of a value that `matches`, while it lasts.
  func key(where matches: (Value) -> Bool) -> String? {
    let now = clock.monotonicNow
    return state.withLock { state in
      state.entries.first { now < $0.value.expiry && matches($0.value.value) }?.key
    }
  }
}
