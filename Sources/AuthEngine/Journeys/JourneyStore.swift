import Support

/// Journeys between their steps, under continuations that are good once. In memory: the access manager keeps its half not much longer.
final class JourneyStore: Sendable {
  private struct Entry {
    let state: JourneyState
    let byteCount: Int
    let expiry: MonotonicInstant
  }

  /// A journey that was taken, and could be put back.
  struct Taken: Sendable {
    let state: JourneyState
    fileprivate let handle: SessionHandle
    fileprivate let expiry: MonotonicInstant
  }

  private struct Contents {
    var entries: [SessionHandle: Entry] = [:]
    var byteCount = 0

    mutating func remove(_ handle: SessionHandle) -> Entry? {
      guard let entry = entries.removeValue(forKey: handle) else { return nil }
      byteCount -= entry.byteCount
      return entry
    }
  }

  /// How many one peer may have, and all together.
  static let mostOfOne = 256
  static let most = 4096
  /// How many bytes all together may take.
  static let maxBytes = 64 << 20
  /// Of these one peer's: nobody takes all the room.
  static let maxBytesOfOne = 16 << 20

  private let clock: any EngineClock
  private let contents = Locked(Contents())

  init(clock: any EngineClock) { self.clock = clock }

  /// Keeps a journey; nil when there are too many.
  func keep(_ state: JourneyState) -> SessionHandle? {
    let handle = SessionHandle.random()
    let now = clock.monotonicNow
    let entry = Entry(state: state, byteCount: state.byteCount, expiry: now + state.life)
    return contents.withLock { contents in
      for (key, old) in contents.entries where old.expiry <= now { _ = contents.remove(key) }
      let own = contents.entries.values.filter { $0.state.owner == state.owner }
      let ownBytes = own.reduce(0) { $0 + $1.byteCount }
      guard own.count < Self.mostOfOne, ownBytes + entry.byteCount <= Self.maxBytesOfOne,
        contents.entries.count < Self.most,
        contents.byteCount + entry.byteCount <= Self.maxBytes
      else { return nil }
      contents.entries[handle] = entry
      contents.byteCount += entry.byteCount
      return handle
    }
  }

  /// Looks at a journey of `owner` without using its continuation up.
  func state(_ handle: SessionHandle, of owner: UInt32) -> JourneyState? {
    let now = clock.monotonicNow
    let entry = contents.withLock { $0.entries[handle] }
    return entry.flatMap { $0.expiry > now && $0.state.owner == owner ? $0.state : nil }
  }

  /// Takes a journey of `owner`: of several callers one gets it. Another peer's stays.
  func take(_ handle: SessionHandle, of owner: UInt32) -> Taken? {
    let now = clock.monotonicNow
    return contents.withLock { contents in
      guard let entry = contents.entries[handle], entry.state.owner == owner else { return nil }
      _ = contents.remove(handle)
      return entry.expiry > now ? Taken(state: entry.state, handle: handle, expiry: entry.expiry) : nil
    }
  }

  /// Puts a journey back under the continuation it had, for as long as it would have been good: nothing has been sent.
  func putBack(_ taken: Taken) {
    let entry = Entry(state: taken.state, byteCount: taken.state.byteCount, expiry: taken.expiry)
    contents.withLock { contents in
      _ = contents.remove(taken.handle)
      contents.entries[taken.handle] = entry
      contents.byteCount += entry.byteCount
    }
  }

  /// How many wait.
  var count: Int {
    let now = clock.monotonicNow
    return contents.withLock { $0.entries.values.count { $0.expiry > now } }
  }
}
