package import AuthEngine
package import JOSE
import PosternSupport

/// A key source whose sets the test chooses, and that counts requests.
package final class ScriptedKeySource: KeySource {
  private struct State {
    package var current: JWKSet
    package var newer: JWKSet?
    package var failure: KeySetError?
    package var loads = 0
    package var refetches = 0
  }

  private let state: Locked<State>

  package init(_ keys: JWKSet) { state = Locked(State(current: keys)) }

  package var loads: Int { state.withLock { $0.loads } }

  package var refetches: Int { state.withLock { $0.refetches } }

  /// Sets the result of the next request for a newer set.
  package func rotate(to keys: JWKSet) { state.withLock { $0.newer = keys } }

  /// Sets the current set.
  package func replace(by keys: JWKSet) { state.withLock { $0.current = keys } }

  /// Makes every request fail from now on.
  package func fail(with error: KeySetError) { state.withLock { $0.failure = error } }

  package func keySet(in scope: CallScope) async throws(KeySetError) -> KeySetSnapshot {
    try state.withLock { (state) throws(KeySetError) in
      state.loads += 1
      if let failure = state.failure { throw failure }
      return Self.snapshot(state.current, 1)
    }
  }

  package func keySet(
    newerThan snapshot: KeySetSnapshot, in scope: CallScope
  ) async throws(KeySetError) -> KeySetSnapshot? {
    state.withLock { state in
      state.refetches += 1
      guard let newer = state.newer else { return nil }
      state.current = newer
      return Self.snapshot(newer, 2)
    }
  }

  private static func snapshot(_ keys: JWKSet, _ sequence: UInt64) -> KeySetSnapshot {
    KeySetSnapshot(keys: keys, sequence: sequence, fetchedAt: MonotonicInstant(nanoseconds: 0))
  }
}
