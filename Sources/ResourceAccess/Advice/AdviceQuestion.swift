import PosternSupport

/// The question that one fetch asks for all that wait for its answer, with the continuation that stands in it: good as
/// long as somebody may go by it.
final class AdviceQuestion: Sendable {
  private struct State {
    var continuation: String?
    var hasLeft = false
    var isOver = false
  }

  private let state = Locked(State())

  /// By what the fetch that asks can be resumed, where it does ask and that is not over otherwise.
  var continuation: String? { state.withLock { $0.continuation } }

  /// It is asked now.
  func begin(_ continuation: String?) { state.withLock { $0.continuation = continuation } }

  /// There is an answer, or there will be none. What is to be given up, where the fetch does not go on with it.
  func end(isAnswered: Bool) -> String? {
    state.withLock { state in
      state.isOver = true
      return isAnswered || state.hasLeft ? state.continuation.take() : nil
    }
  }

  /// The fetch leaves. What is to be given up, unless others still wait for the answer.
  func leave(isWanted: Bool) -> String? {
    state.withLock { state in
      state.hasLeft = true
      return state.isOver || !isWanted ? state.continuation.take() : nil
    }
  }
}
