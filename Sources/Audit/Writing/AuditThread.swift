import Glibc

/// A thread for files. It takes no signal: those of the process go to its other threads.
enum AuditThread {
  /// Runs `body` on a new thread, which nobody waits for.
  static func start(_ body: @escaping @Sendable () -> Void) throws(AuditError) {
    let start = Unmanaged.passRetained(Start(body: body))
    var thread = pthread_t()
    var blocked = sigset_t()
    var before = sigset_t()
    sigfillset(&blocked)
    for signal in [SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS] { sigdelset(&blocked, signal) }
    pthread_sigmask(SIG_SETMASK, &blocked, &before)
    let code = pthread_create(
      &thread, nil,
      { argument in
        guard let argument else { return nil }
        Unmanaged<Start>.fromOpaque(argument).takeRetainedValue().body()
        return nil
      }, start.toOpaque())
    pthread_sigmask(SIG_SETMASK, &before, nil)
    guard code == 0 else {
      start.release()
      throw AuditError("no thread for the audit log: \(String(cString: strerror(code)))")
    }
    pthread_detach(thread)
  }

  private final class Start: Sendable {
    let body: @Sendable () -> Void

    init(body: @escaping @Sendable () -> Void) { self.body = body }
  }
}
