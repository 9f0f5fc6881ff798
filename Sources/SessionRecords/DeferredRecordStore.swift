public import PosternSupport

/// A store that is opened when it is first needed: a sidecar that nobody asks for sessions needs none. While it is open
/// another opening can take its place, with other keys: calls wait for that moment, and none fails for it.
///
/// An attempt that failed is told to whoever asked, and made again for the next. A store that was left to another
/// process (`giveUp`) is not opened again.
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
    /// What is to be opened in its place.
    var next: Exchange?
    /// What has to be let go of before.
    var retiring: StoreHandle?
    /// How much is under way whose outcome has to be written.
    var holds = 0
    /// Nothing of that kind begins any more.
    var isLeaving = false
    /// The store is another process's.
    var hasLeft = false
    var leavers: [CheckedContinuation<Void, Never>] = []
  }

  private static let left = StoreError(.locked, "this process ends, and has left the store to the next one")

  private let state: Locked<State>
  private let flights: SingleFlight<Key, Void, StoreError>
  /// Whether it is certain that it will be needed.
  public let isNeeded: Bool

  /// A store that `open` opens. One that `isNeeded` is opened also to find out whether it can be.
  public init(clock: some EngineClock, isNeeded: Bool = false, open: @escaping Opening) {
    flights = SingleFlight(clock: clock, servesEverybody: true)
    self.isNeeded = isNeeded
    state = Locked(State(opening: open))
  }

  /// Whether it has been opened.
  public var isOpen: Bool { state.withLock { $0.tenure != nil } }

  /// Opens the store by `opening` from here on: at once if it is open, else when it is first needed. When that fails it
  /// is opened as before. `report` is told how it went, nil for well; not when another exchange came first.
  public func exchange(_ opening: @escaping Opening, report: @escaping @Sendable (StoreError?) -> Void) {
    let isOpen = state.withLock { state in
      state.next = Exchange(opening: opening, report: report)
      return retire(&state)
    }
    guard isOpen else { return }
    Task { [self] in
      // Whoever asks for sessions is told what is wrong, and `report`.
      if let tenure = try? await enter() { tenure.leave() }
    }
  }

  private func retire(_ state: inout State) -> Bool {
    guard let tenure = state.tenure else { return false }
    state.retiring = tenure
    state.tenure = nil
    return true
  }

  /// The open store, opened if need be, held until `leave`.
  private func enter() async throws(StoreError) -> StoreHandle {
    while true {
      if let tenure = state.withLock({ state in state.tenure.flatMap { $0.enter() ? $0 : nil } }) { return tenure }
      do throws(SingleFlightError<StoreError>) {
        try await flights.value(for: Key()) { [self] () async throws(StoreError) in try await open() }
      } catch {
        switch error {
        case .failed(let error): throw error
        case .cancelled, .deadlineExceeded: throw StoreError(.unavailable, "the wait for the store was cancelled")
        }
      }
    }
  }

  private func open() async throws(StoreError) {
    while state.withLock({ $0.tenure == nil }) {
      guard !state.withLock({ $0.hasLeft }) else { throw Self.left }
      // One process has the store for itself: the one before lets go first.
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

  /// Leaves the store to another process, for good. What holds it is awaited, and nothing else begins to hold it;
  /// `last` may write; then calls end in `locked`, those that are at the store are awaited, and it is closed.
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

  /// Something begins whose outcome has to be written.
  public func hold(isNested: Bool) throws(StoreError) {
    let isTooLate = state.withLock { state in
      guard !state.isLeaving || isNested else { return true }
      state.holds += 1
      return false
    }
    if isTooLate { throw Self.left }
  }

  /// It is over.
  public func letGo() {
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

  /// What is open now, held until `leave`.
  private var current: StoreHandle? { state.withLock { state in state.tenure.flatMap { $0.enter() ? $0 : nil } } }

  /// The record.
  public func record(for key: RecordKey) async throws(StoreError) -> StoredRecord? {
    try await use { (store) async throws(StoreError) in try await store.record(for: key) }
  }

  /// Records of `owner`.
  public func records(
    in collection: RecordKey.Collection, ownedBy owner: UInt32, after position: Int64, atMost count: Int
  ) async throws(StoreError) -> RecordPage {
    try await use { (store) async throws(StoreError) in
      try await store.records(in: collection, ownedBy: owner, after: position, atMost: count)
    }
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
  public func remove(_ key: RecordKey) async throws(StoreError) -> Bool {
    try await use { (store) async throws(StoreError) in try await store.remove(key) }
  }

  /// Removes a record and returns it.
  public func take(_ key: RecordKey) async throws(StoreError) -> StoredRecord? {
    try await use { (store) async throws(StoreError) in try await store.take(key) }
  }

  /// A lease.
  public func lease(_ key: RecordKey, for duration: Duration) async throws(StoreError) -> RecordLease? {
    try await use { (store) async throws(StoreError) in try await store.lease(key, for: duration) }
  }

  /// Gives a lease back.
  public func release(_ lease: RecordLease) async {
    guard let current else { return }
    await current.store.release(lease)
    current.leave()
  }

  /// How many records there are.
  public func count(in collection: RecordKey.Collection) async throws(StoreError) -> Int {
    try await use { (store) async throws(StoreError) in try await store.count(in: collection) }
  }

  /// How much `owner` has.
  public func usage(of owner: UInt32) async throws(StoreError) -> RecordUsage {
    try await use { (store) async throws(StoreError) in try await store.usage(of: owner) }
  }

  /// Removes what expired.
  public func purge(expiredAt now: Timestamp) async throws(StoreError) -> Int {
    guard let current else { return 0 }
    defer { current.leave() }
    return try await current.store.purge(expiredAt: now)
  }

  /// Looks whether it can be used; one that nobody has needed yet, and nobody will for certain, is left alone.
  public func check() async throws(StoreError) {
    guard isNeeded || isOpen else { return }
    try await use { (store) async throws(StoreError) in try await store.check() }
  }

  /// Writes something that changes nothing; one that nobody has needed yet is left alone.
  public func checkWriting() async throws(StoreError) {
    guard isOpen else { return }
    try await use { (store) async throws(StoreError) in try await store.checkWriting() }
  }

  /// Closes what has been opened.
  public func close() async {
    guard let current else { return }
    await current.store.close()
    current.leave()
  }
}
