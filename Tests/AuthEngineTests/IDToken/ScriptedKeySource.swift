import AuthEngine
import JOSE
import PosternSupport

/// A key source whose sets the test chooses, and that counts how often it is asked.
final class ScriptedKeySource: KeySource {
  private struct State {
    var current: JWKSet
    var newer: JWKSet?
    var failure: KeySetError?
    var loads = 0
    var refetches = 0
  }

  private let state: Locked<State>

  init(_ keys: JWKSet) { state = Locked(State(current: keys)) }

  var loads: Int { state.withLock { $0.loads } }

  var refetches: Int { state.withLock { $0.refetches } }

  /// What the next question for a newer set brings.
  func rotate(to keys: JWKSet) { state.withLock { $0.newer = keys } }

  /// What is in force from now on.
  func replace(by keys: JWKSet) { state.withLock { $0.current = keys } }

  /// What every question ends in from now on.
  func fail(with error: KeySetError) { state.withLock { $0.failure = error } }

  func keySet(deadline: Deadline) async throws(KeySetError) -> KeySetSnapshot {
    try state.withLock { (state) throws(KeySetError) in
      state.loads += 1
      if let failure = state.failure { throw failure }
      return Self.snapshot(state.current, 1)
    }
  }

  func keySet(
    newerThan snapshot: KeySetSnapshot, deadline: Deadline
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
