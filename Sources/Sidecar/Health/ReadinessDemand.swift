import PosternSupport

/// Whether a program checks the sidecar's readiness. Without that, the sidecar sends requests to issuers only when a
/// call needs them; with it, before.
final class ReadinessDemand: Sendable {
  private struct State {
    var isPrepared = false
    var isThere = false
  }

  private let state = Locked(State())
  private let begun = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))

  /// Whether a task will `wait`, and readiness was requested.
  var isFollowed: Bool { state.withLock { $0.isPrepared && $0.isThere } }

  /// Announces that a task will `wait`.
  func prepare() { change { $0.isPrepared = true } }

  /// Records a request for readiness.
  func show() { change { $0.isThere = true } }

  /// Returns when readiness was requested, or the task is cancelled.
  func wait() async {
    for await _ in begun.stream { return }
  }

  private func change(_ body: (inout State) -> Void) {
    let begins = state.withLock { state in
      let was = state.isPrepared && state.isThere
      body(&state)
      return !was && state.isPrepared && state.isThere
    }
    if begins { begun.continuation.yield() }
  }
}
