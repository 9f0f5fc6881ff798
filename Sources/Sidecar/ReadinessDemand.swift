import PosternSupport

/// Whether anybody wants to know if the sidecar is ready. Providers are left alone until then: a sidecar that nobody
/// watches asks them when a call needs them, and a watched one before.
final class ReadinessDemand: Sendable {
  private struct State {
    var isPrepared = false
    var isThere = false
  }

  private let state = Locked(State())
  private let begun = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))

  /// Whether somebody will `wait`, and there is interest.
  var isFollowed: Bool { state.withLock { $0.isPrepared && $0.isThere } }

  /// Somebody will `wait`.
  func prepare() { change { $0.isPrepared = true } }

  /// Somebody asks.
  func show() { change { $0.isThere = true } }

  /// Returns when there is interest, or the task is cancelled.
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
