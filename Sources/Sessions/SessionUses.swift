import PosternSupport
import SessionRecords

/// Which fetches may still carry a session's tokens: what a step-up has replaced is revoked behind the last of them.
package final class SessionUses: Sendable {
  private struct Waiting {
    var pending: Set<UInt64>
    let body: @Sendable () -> Void
  }

  private struct Place {
    var running: Set<UInt64> = []
    var waiting: [Waiting] = []
  }

  private struct State {
    var last: UInt64 = 0
    var places: [RecordKey: Place] = [:]
  }

  /// How many step-ups of one session wait; beyond, the first goes on at once.
  private static let maxWaiting = 16

  private let state = Locked(State())

  /// A use that has begun.
  package struct Use: Sendable {
    fileprivate let uses: SessionUses
    fileprivate let key: RecordKey
    fileprivate let number: UInt64

    /// It is over.
    package func end() { uses.end(self) }
  }

  /// Begins a use of the session's tokens.
  func begin(_ key: RecordKey) -> Use {
    state.withLock { state in
      state.last += 1
      state.places[key, default: Place()].running.insert(state.last)
      return Use(uses: self, key: key, number: state.last)
    }
  }

  /// Runs `body` once every use that has begun by now is over. It is called on whatever task ends the last one.
  func afterwards(_ key: RecordKey, _ body: @escaping @Sendable () -> Void) {
    let due = state.withLock { state -> (@Sendable () -> Void)? in
      guard var place = state.places[key], !place.running.isEmpty else { return body }
      place.waiting.append(Waiting(pending: place.running, body: body))
      let first = place.waiting.count > Self.maxWaiting ? place.waiting.removeFirst().body : nil
      state.places[key] = place
      return first
    }
    due?()
  }

  private func end(_ use: Use) {
    let due = state.withLock { state -> [@Sendable () -> Void] in
      guard var place = state.places[use.key], place.running.remove(use.number) != nil else { return [] }
      for index in place.waiting.indices { place.waiting[index].pending.remove(use.number) }
      let due = place.waiting.filter(\.pending.isEmpty).map(\.body)
      place.waiting.removeAll(where: \.pending.isEmpty)
      state.places[use.key] = place.running.isEmpty && place.waiting.isEmpty ? nil : place
      return due
    }
    for body in due { body() }
  }
}
