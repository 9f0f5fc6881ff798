import PosternSupport

/// The question that one fetch puts to the user for all fetches that wait for the answer, with its continuation: valid
/// as long as a caller may use it.
final class AdviceQuestion: Sendable {
  private struct State {
    var continuation: String?
    var hasLeft = false
    var isOver = false
  }

  private let state = Locked(State())

  /// The continuation of the fetch that put the question; nil before that, and when it is no longer valid.
  var continuation: String? { state.withLock { $0.continuation } }

  /// The question is put to the user now.
  func begin(_ continuation: String?) { state.withLock { $0.continuation = continuation } }

  /// There is an answer, or there will be none. Returns the continuation to release, where the fetch does not need it.
  func end(isAnswered: Bool) -> String? {
    state.withLock { state in
      state.isOver = true
      return isAnswered || state.hasLeft ? state.continuation.take() : nil
    }
  }

  /// The fetch no longer waits. Returns the continuation to release, unless others still wait for the answer.
  func leave(isWanted: Bool) -> String? {
    state.withLock { state in
      state.hasLeft = true
      return state.isOver || !isWanted ? state.continuation.take() : nil
    }
  }
}
