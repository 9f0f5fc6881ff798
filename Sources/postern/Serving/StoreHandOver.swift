import AuthEngine
import PosternSupport
import Sidecar

/// The end of the session store in a process that drains: what has to be written is written, and where the next process
/// waits for the store, it gets it while slow calls are still under way.
final class StoreHandOver: Sendable {
  /// How long calls that had just come may ask for their sessions.
  private static let grace = Duration.seconds(1)

  private let store: DeferredRecordStore?
  /// Writes what only this process has.
  private let writing: @Sendable () async -> Void
  private let clock = SystemClock()
  private let isOver = Locked(false)
  private let timer: Task<Void, Never>?

  /// The process drains from now on.
  init(_ storage: SessionStorage, writing: @escaping @Sendable () async -> Void) {
    let store = storage.deferred
    self.store = store
    self.writing = writing
    guard let store, !storage.isShared else {
      timer = nil
      return
    }
    timer = Task { [clock] in
      guard (try? await clock.sleep(for: Self.grace)) != nil else { return }
      await store.giveUp(after: writing)
    }
  }

  /// No call is under way any more: waits until `deadline` at most for what goes on without its caller.
  func finish(by deadline: Deadline) async {
    timer?.cancel()
    guard let store else { return }
    Task { [isOver, writing] in
      await store.giveUp(after: writing)
      isOver.withLock { $0 = true }
    }
    while !isOver.withLock({ $0 }), !deadline.hasPassed(on: clock) {
      try? await clock.sleep(for: .milliseconds(5))
    }
  }
}
