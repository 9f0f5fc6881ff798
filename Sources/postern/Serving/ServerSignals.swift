import Glibc
import Support

/// What the sidecar does with signals: SIGHUP reloads, the first SIGTERM or SIGINT drains, a second one ends the process at once.
final class ServerSignals: Sendable {
  private struct State {
    var reload: (@Sendable () -> Void)?
    var isEnding = false
  }

  private let state = Locked(State())
  private let ending: AsyncStream<Void>
  private let continuation: AsyncStream<Void>.Continuation

  init() { (ending, continuation) = AsyncStream.makeStream() }

  /// From now on signals are noted; nil when the handlers could not be installed.
  static func install() -> SignalThread.Pipes? { SignalThread.install() }

  /// From now on they are acted on, those that came before too. False when there is no thread for it.
  func start(_ pipes: SignalThread.Pipes) -> Bool {
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

  /// What SIGHUP does from now on; before that it does nothing.
  func onReload(_ action: @escaping @Sendable () -> Void) { state.withLock { $0.reload = action } }

  /// Returns when the process has been asked to end.
  func untilEnd() async {
    for await _ in ending {}
  }

  private func reload() { state.withLock { $0.reload }?() }
}
