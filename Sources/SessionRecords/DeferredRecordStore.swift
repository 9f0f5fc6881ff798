public import PosternSupport

/// A store that is opened when it is first needed: a sidecar without session calls needs none. An open store can be
/// replaced by another one, with other keys: calls wait for the replacement, and none fails because of it.
///
/// A failed attempt is an error for the call that caused it, and is made again for the next call. A store that was left
/// to another process (`giveUp`) is not opened again.
public final class DeferredRecordStore: RecordStore {
  /// Opens the store.
  public typealias Opening = @Sendable () async throws(StoreError) -> any RecordStore

  private struct Key: Hashable, Sendable {}

  private struct Exchange: Sendable {
    let opening: Opening
    let report: @Sendable (StoreError?) -> Void
  }

  private struct State: Sendable {
    var opening: Opening
    var tenure: StoreHandle?
    /// The opening of the replacement.
    var next: Exchange?
    /// The handle that has to be closed first.
    var retiring: StoreHandle?
    /// The number of operations whose outcome has to be written.
    var holds = 0
    /// Whether no such operation may start any more.
    var isLeaving = false
    /// The store belongs to another process.
    var hasLeft = false
    var leavers: [CheckedContinuation<Void, Never>] = []
  }

  private static let left = StoreError(.locked, "this process stops, and has left the store to the next one")

  private let state: Locked<State>
  private let flights: SingleFlight<Key, Void, StoreError>
  /// Whether it is certain that it will be needed.
  public let isNeeded: Bool

  /// A store that `open` opens. One that `isNeeded` is opened also to check whether that is possible.
  public init(clock: some EngineClock, isNeeded: Bool = false, open: @escaping Opening) {
    flights = SingleFlight(clock: clock, servesEverybody: true) { _ in
      StoreError(.unavailable, "the wait for the store was cancelled")
    }
    self.isNeeded = isNeeded
    state = Locked(State(opening: open))
  }

  /// Whether it has been opened.
  public var isOpen: Bool { state.withLock { $0.tenure != nil } }

  /// Opens the store by `opening` from now on: at once if it is open, else when it is first needed. When that fails, it
  /// is opened as before. `report` gets the error, nil for success; it is not called when another replacement came
  /// first.
  public func exchange(_ opening: @escaping Opening, report: @escaping @Sendable (StoreError?) -> Void) {
    let isOpen = state.withLock { state in
      state.next = Exchange(opening: opening, report: report)
      return retire(&state)
    }
    guard isOpen else { return }
    Task { [self] in
      // Both calls about sessions and `report` get the error.
      if let tenure = try? await enter() { tenure.leave() }
    }
  }

  private func retire(_ state: inout State) -> Bool {
    guard let tenure = state.tenure else { return false }
    state.retiring = tenure
    state.tenure = nil
    return true
  }

  /// Returns the open store, opened if need be, which remains open until `leave`.
  private func enter() async throws(StoreError) -> StoreHandle {
    while true {
      if let tenure = state.withLock({ state in state.tenure.flatMap { $0.enter() ? $0 : nil } }) { return tenure }
      try await flights.value(for: Key()) { [self] () async throws(StoreError) in try await open() }
    }
  }

  private func open() async throws(StoreError) {
    while state.withLock({ $0.tenure == nil }) {
      guard !state.withLock({ $0.hasLeft }) else { throw Self.left }
      // A process has the store exclusively: the previous handle is closed first.
      if let retiring = state.withLock({ $0.retiring }) {
        await retiring.end()
        state.withLock { $0.retiring = nil }
      }
      let store = try await opened()
      let isTooLate = state.withLock { state in
        guard !state.hasLeft else { return true }
        state.tenure = StoreHandle(store)
        if state.next != nil { _ = retire(&state) }
        return false
      }
      if isTooLate {
        await store.close()
        throw Self.left
      }
    }
  }

  /// Leaves the store to another process, for good. Operations whose outcome has to be written are awaited, and no
  /// others start; `last` may write; then calls fail with `locked`, those in progress are awaited, and the store is
  /// closed.
  public func giveUp(after last: @Sendable () async -> Void = {}) async {
    await withCheckedContinuation { continuation in
      let isIdle = state.withLock { state in
        state.isLeaving = true
        guard state.holds > 0 else { return true }
        state.leavers.append(continuation)
        return false
      }
      if isIdle { continuation.resume() }
    }
    await last()
    let tenure = state.withLock { state in
      defer { state.tenure = nil }
      state.hasLeft = true
      return state.tenure
    }
    await tenure?.end()
  }

  /// Starts an operation whose outcome has to be written.
  public func beginRetention(isNested: Bool) throws(StoreError) {
    let isTooLate = state.withLock { state in
      guard !state.isLeaving || isNested else { return true }
      state.holds += 1
      return false
    }
    if isTooLate { throw Self.left }
  }

  /// Ends the operation.
  public func endRetention() {
    let leavers = state.withLock { state in
      state.holds -= 1
      guard state.isLeaving, state.holds == 0 else { return [] as [CheckedContinuation<Void, Never>] }
      defer { state.leavers = [] }
      return state.leavers
    }
    for leaver in leavers { leaver.resume() }
  }

  private func opened() async throws(StoreError) -> any RecordStore {
    let (opening, next) = state.withLock { state in
      defer { state.next = nil }
      return (state.opening, state.next)
    }
    guard let next else { return try await opening() }
    do throws(StoreError) {
      let store = try await next.opening()
      state.withLock { $0.opening = next.opening }
      next.report(nil)
      return store
    } catch {
      next.report(error)
      return try await opening()
    }
  }

  private func use<Value: Sendable>(
    _ body: (any RecordStore) async throws(StoreError) -> Value
  ) async throws(StoreError) -> Value {
    let tenure = try await enter()
    defer { tenure.leave() }
    return try await body(tenure.store)
  }

  /// Returns the open store, which remains open until `leave`.
  private var current: StoreHandle? { state.withLock { state in state.tenure.flatMap { $0.enter() ? $0 : nil } } }

  /// Returns the record.
  public func record(for key: RecordKey, by payer: UInt32) async throws(StoreError) -> StoredRecord? {
    try await use { (store) async throws(StoreError) in try await store.record(for: key, by: payer) }
  }

  /// Returns records of `uid`.
  public func records(
    in collection: RecordKey.Collection, ownedBy uid: UInt32, after position: Int64, atMost count: Int,
    by payer: UInt32
  ) async throws(StoreError) -> RecordPage {
    try await use { (store) async throws(StoreError) in
      try await store.records(in: collection, ownedBy: uid, after: position, atMost: count, by: payer)
    }
  }

  /// Returns the uids that have records.
  public func owners(in collection: RecordKey.Collection, by payer: UInt32) async throws(StoreError) -> Set<UInt32> {
    try await use { (store) async throws(StoreError) in try await store.owners(in: collection, by: payer) }
  }

  /// Adds a record.
  public func insert(_ record: StoredRecord, within allowance: RecordAllowance) async throws(StoreError) {
    try await use { (store) async throws(StoreError) in try await store.insert(record, within: allowance) }
  }

  /// Replaces a record.
  public func replace(
    _ record: StoredRecord, under lease: RecordLease?, within allowance: RecordAllowance
  ) async throws(StoreError) {
    try await use { (store) async throws(StoreError) in try await store.replace(record, under: lease, within: allowance)
    }
  }

  /// Removes a record.
  public func remove(_ key: RecordKey, by payer: UInt32) async throws(StoreError) -> Bool {
    try await use { (store) async throws(StoreError) in try await store.remove(key, by: payer) }
  }

  /// Removes a record and returns it.
  public func take(_ key: RecordKey, by payer: UInt32) async throws(StoreError) -> StoredRecord? {
    try await use { (store) async throws(StoreError) in try await store.take(key, by: payer) }
  }

  /// Records a use.
  public func spend(
    _ value: [UInt8], by share: SpendingShare, until expiry: Timestamp, at now: Timestamp
  ) async throws(StoreError) -> Bool {
    try await use { (store) async throws(StoreError) in
      try await store.spend(value, by: share, until: expiry, at: now)
    }
  }

  /// Takes a lease.
  public func lease(_ key: RecordKey, for duration: Duration, by payer: UInt32) async throws(StoreError) -> RecordLease?
  {
    try await use { (store) async throws(StoreError) in try await store.lease(key, for: duration, by: payer) }
  }

  /// Gives a lease back.
  public func release(_ lease: RecordLease, by payer: UInt32) async {
    guard let current else { return }
    await current.store.release(lease, by: payer)
    current.leave()
  }

  /// Returns the number of records.
  public func count(in collection: RecordKey.Collection) async throws(StoreError) -> Int {
    try await use { (store) async throws(StoreError) in try await store.count(in: collection) }
  }

  /// Returns the usage of `uid`.
  public func usage(of uid: UInt32, by payer: UInt32) async throws(StoreError) -> RecordUsage {
    try await use { (store) async throws(StoreError) in try await store.usage(of: uid, by: payer) }
  }

  /// Removes expired records.
  public func purge(expiredAt now: Timestamp, by payer: UInt32) async throws(StoreError) -> Int {
    guard let current else { return 0 }
    defer { current.leave() }
    return try await current.store.purge(expiredAt: now, by: payer)
  }

  /// Checks whether the store can be used, unless it has not been needed so far and may never be.
  public func check() async throws(StoreError) {
    guard isNeeded || isOpen else { return }
    try await use { (store) async throws(StoreError) in try await store.check() }
  }

  /// Makes a write without effect, unless the store has not been needed so far.
  public func checkWriting() async throws(StoreError) {
    guard isOpen else { return }
    try await use { (store) async throws(StoreError) in try await store.checkWriting() }
  }

  /// Closes the store if it is open.
  public func close() async {
    guard let current else { return }
    await current.store.close()
    current.leave()
  }
}

extension DeferredRecordStore: ConciseStringConvertible {
  /// Whether it is open.
  public var description: String { isOpen ? "open record store" : "record store that is not open" }
}
