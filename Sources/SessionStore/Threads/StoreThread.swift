import AuthEngine
import CSQLite
import Glibc

/// A thread for calls that block. It takes no signal: those of the process go to its other threads.
enum StoreThread {
  /// Runs `body` on a new thread of that name (at most 15 characters), which nobody waits for.
  static func start(_ name: StaticString, _ body: @escaping @Sendable () -> Void) throws(StoreError) {
    let start = Unmanaged.passRetained(Start(name: name, body: body))
    var thread = pthread_t()
    let code = withoutSignals {
      pthread_create(
        &thread, nil,
        { argument in
          guard let argument else { return nil }
          let start = Unmanaged<Start>.fromOpaque(argument).takeRetainedValue()
          start.name.withUTF8Buffer { name in
            name.withMemoryRebound(to: CChar.self) { postern_sqlite_name_thread($0.baseAddress) }
          }
          start.body()
          return nil
        }, start.toOpaque())
    }
    guard code == 0 else {
      start.release()
      throw StoreError(.unavailable, "no thread for the store: \(String(cString: strerror(code)))")
    }
    pthread_detach(thread)
  }

  private static func withoutSignals(_ body: () -> Int32) -> Int32 {
    var blocked = sigset_t()
    var before = sigset_t()
    sigfillset(&blocked)
    for signal in [SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS] { sigdelset(&blocked, signal) }
    pthread_sigmask(SIG_SETMASK, &blocked, &before)
    defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
    return body()
  }

  private final class Start {
    let name: StaticString
    let body: @Sendable () -> Void

    init(name: StaticString, body: @escaping @Sendable () -> Void) {
      self.name = name
      self.body = body
    }
  }
}
