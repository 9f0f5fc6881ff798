import PosternSupport
import SessionRecords

/// A thread for calls that block.
enum StoreThread {
  /// Runs `body` on a new, detached thread of that name (at most 15 bytes).
  static func start(_ name: StaticString, _ body: @escaping @Sendable () -> Void) throws(StoreError) {
    do throws(SystemThread.StartError) {
      try SystemThread.start(name, body)
    } catch { throw StoreError(.unavailable, "no thread for the store: \(error)") }
  }
}
