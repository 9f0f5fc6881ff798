import PosternRuntime
import PosternSupport
import Sidecar

/// Gives memory back to the system a moment after a large message, and after the call it was: many small values leave
/// holes all over malloc's arenas, which by itself it keeps for good.
final class MemoryReturn: Sendable {
  /// Smaller messages leave too little behind to look for it. A user without a rule cannot send larger ones.
  static let threshold = SidecarService.strangersMessageBytes
  /// By then the message and its answer are mostly gone, and all that came together cost one look.
  private static let pause = Duration.milliseconds(500)

  private struct State {
    var isDue = false
    var isUsedAgain = false
  }

  private let state = Locked(State())

  /// A message of `bytes` bytes has come or was sent, or its call has ended.
  func used(bytes: Int) {
    guard bytes > Self.threshold else { return }
    let starts = state.withLock { state in
      state.isUsedAgain = true
      defer { state.isDue = true }
      return !state.isDue
    }
    guard starts else { return }
    // Not on an event loop, where the caller may run.
    Task.detached(priority: .background) { await self.run() }
  }

  /// Until nothing was used since the last look.
  private func run() async {
    repeat {
      state.withLock { $0.isUsedAgain = false }
      try? await Task.sleep(for: Self.pause)
      ProcessLimits.trimMemory()
    } while goesOn
  }

  private var goesOn: Bool {
    state.withLock { state in
      state.isDue = state.isUsedAgain
      return state.isDue
    }
  }
}
