import Glibc
import PosternSupport

/// Handles signals: SIGHUP reloads, the first SIGTERM or SIGINT drains, the second one makes the process exit at once.
package final class ServerSignals: Sendable {
  private struct State {
    var reload: (@Sendable () -> Void)?
    var isEnding = false
  }

  private let state = Locked(State())
  private let ending: AsyncStream<Void>
  private let continuation: AsyncStream<Void>.Continuation

  package init() { (ending, continuation) = AsyncStream.makeStream() }

  /// Signals that mean nothing to the sidecar, and by default would end it. A process that is started from here, should
  /// there be one, has to set them back.
  package static func ignoreOthers() {
    // SIGXFSZ: a file that may not grow any more is an error of the write, not the end of the process.
    for number in [SIGPIPE, SIGXFSZ, SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM, SIGPROF, SIGIO, SIGPWR, SIGSTKFLT] {
      signal(number, SIG_IGN)
    }
    // The real-time signals that the C library leaves to programs.
    for number in 34...64 as ClosedRange<Int32> { signal(number, SIG_IGN) }
  }

  /// From now on signals are noted; nil when the handlers could not be installed.
  package static func install() -> SignalThread.Pipes? { SignalThread.install() }

  /// From now on they are acted on, those that came before too. False when there is no thread for it.
  package func start(_ pipes: SignalThread.Pipes) -> Bool {
    SignalThread.start(pipes) { [self] wish in
      guard wish == .end else { return reload() }
      let isSecond = state.withLock { state in
        defer { state.isEnding = true }
        return state.isEnding
      }
      if isSecond { _exit(130) }
      continuation.finish()
    }
  }

  /// Sets the action of SIGHUP, which is ignored until then.
  package func onReload(_ action: @escaping @Sendable () -> Void) { state.withLock { $0.reload = action } }

  /// Returns when the process is requested to stop.
  package func untilEnd() async {
    for await _ in ending {}
  }

  private func reload() { state.withLock { $0.reload }?() }
}
