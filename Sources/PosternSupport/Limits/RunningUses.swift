/// Counts the running uses of each key, and runs work after the last of those that were running when it was requested.
package final class RunningUses<Key: Hashable & Sendable>: Sendable {
  private struct Waiting {
    var pending: Set<UInt64>
    let body: @Sendable () -> Void
  }

  private struct Entry {
    var running: Set<UInt64> = []
    var waiting: [Waiting] = []
  }

  private struct State {
    var last: UInt64 = 0
    var entries: [Key: Entry] = [:]
  }

  /// How much work of one key waits; beyond that, the first continues at once.
  private static var maxWaiting: Int { 16 }

  private let state = Locked(State())

  package init() {}

  /// A use that has begun.
  package struct Use: Sendable {
    fileprivate let uses: RunningUses
    fileprivate let key: Key
    fileprivate let number: UInt64

    /// Ends the use.
    package func end() { uses.end(self) }
  }

  /// Begins a use of the key.
  package func begin(_ key: Key) -> Use {
    state.withLock { state in
      state.last += 1
      state.entries[key, default: Entry()].running.insert(state.last)
      return Use(uses: self, key: key, number: state.last)
    }
  }

  /// Runs `body` once every use that has begun by now is over, on the task that ends the last one.
  package func afterwards(_ key: Key, _ body: @escaping @Sendable () -> Void) {
    let due = state.withLock { state -> (@Sendable () -> Void)? in
      guard var entry = state.entries[key], !entry.running.isEmpty else { return body }
      entry.waiting.append(Waiting(pending: entry.running, body: body))
      let first = entry.waiting.count > Self.maxWaiting ? entry.waiting.removeFirst().body : nil
      state.entries[key] = entry
      return first
    }
    due?()
  }

  private func end(_ use: Use) {
    let due = state.withLock { state -> [@Sendable () -> Void] in
      guard var entry = state.entries[use.key], entry.running.remove(use.number) != nil else { return [] }
      for index in entry.waiting.indices { entry.waiting[index].pending.remove(use.number) }
      let due = entry.waiting.filter(\.pending.isEmpty).map(\.body)
      entry.waiting.removeAll(where: \.pending.isEmpty)
      state.entries[use.key] = entry.running.isEmpty && entry.waiting.isEmpty ? nil : entry
      return due
    }
    for body in due { body() }
  }
}
