import Glibc

/// SIGTERM and SIGINT, kept from their default effect and waited for.
struct StopSignals {
  private var set: sigset_t

  /// Blocks the signals in this thread and those it starts. SIGPIPE is ignored: writes report the error instead.
  static func block() -> StopSignals {
    var set = sigset_t()
    sigemptyset(&set)
    sigaddset(&set, SIGTERM)
    sigaddset(&set, SIGINT)
    pthread_sigmask(SIG_BLOCK, &set, nil)
    signal(SIGPIPE, SIG_IGN)
    return StopSignals(set: set)
  }

  /// Waits for one of them.
  func wait() {
    var set = set
    var received: Int32 = 0
    while sigwait(&set, &received) != 0 {}
  }

  /// Ends `wait` from within.
  static func raise() { kill(getpid(), SIGTERM) }
}
