import CPosternLinux
import Glibc
import PosternSupport

/// Closures of other threads for an event loop, and its wake-up. The lock is the truth; the descriptor is written only
/// when the loop waits or is about to.
final class Mailbox: Sendable {
  private struct State {
    var closures: [@Sendable () -> Void] = []
    /// Something was added since the loop last looked.
    var isSignalled = false
    /// The loop waits, or is about to.
    var isWaiting = false
    /// The loop is to end; nothing more is taken.
    var isStopping = false
  }

  let descriptor: CInt
  private let state = Locked(State())

  init() throws(EpollError) {
    descriptor = clinux_wakeup_open()
    guard descriptor >= 0 else { throw EpollError(call: "eventfd", errno: -descriptor) }
  }

  deinit { close(descriptor) }

  // MARK: - Any thread

  /// Takes a closure; false when the loop is to end.
  func add(_ closure: @escaping @Sendable () -> Void) -> Bool {
    let (isTaken, mustSignal) = state.withLock { state -> (Bool, Bool) in
      guard !state.isStopping else { return (false, false) }
      state.closures.append(closure)
      return (true, Self.signals(&state))
    }
    if mustSignal { clinux_wakeup_signal(descriptor) }
    return isTaken
  }

  /// Ends the loop's wait.
  func wake() {
    if state.withLock({ Self.signals(&$0) }) { clinux_wakeup_signal(descriptor) }
  }

  /// Has the loop end after what it has been given.
  func stop() {
    let mustSignal = state.withLock { state in
      state.isStopping = true
      return Self.signals(&state)
    }
    if mustSignal { clinux_wakeup_signal(descriptor) }
  }

  private static func signals(_ state: inout State) -> Bool {
    state.isSignalled = true
    guard state.isWaiting else { return false }
    state.isWaiting = false
    return true
  }

  // MARK: - The loop

  /// Whether the loop may wait: from here on everything that is added wakes it.
  func mayWait() -> Bool {
    state.withLock { state in
      state.isWaiting = !state.isSignalled
      return state.isWaiting
    }
  }

  /// Takes the closures out; `isOver`: the loop ends after them.
  func take() -> (closures: [@Sendable () -> Void], isOver: Bool) {
    state.withLock { state in
      state.isWaiting = false
      guard state.isSignalled else { return ([], false) }
      state.isSignalled = false
      defer { state.closures = [] }
      return (state.closures, state.isStopping)
    }
  }

  /// The wake-up was seen.
  func clear() { clinux_wakeup_clear(descriptor) }
}
