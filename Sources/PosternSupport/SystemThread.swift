import CPosternLinux
import Glibc

/// A thread of the system's own, for what blocks or must not wait for Swift's.
///
/// It takes no signal: those of the process go to its other threads. Threads that it starts inherit that.
public enum SystemThread {
  /// Why there is no thread.
  public struct StartError: Error, ConciseStringConvertible {
    /// The error number of `pthread_create`, nearly always EAGAIN: too many threads, or no memory for one.
    public let code: Int32

    /// The system's description of the error.
    public var description: String { SystemError.text(code) }
  }

  /// A thread that must be joined or detached, once.
  public struct Handle: Sendable {
    fileprivate let thread: pthread_t

    /// Waits for its end. On that very thread, which cannot wait for itself, it lets it go.
    public func join() {
      if pthread_equal(thread, pthread_self()) != 0 { pthread_detach(thread) } else { pthread_join(thread, nil) }
    }

    /// Whether the caller runs on it.
    public var isCurrent: Bool { pthread_equal(thread, pthread_self()) != 0 }

    /// Detaches it.
    public func detach() { pthread_detach(thread) }
  }

  /// Runs `body` on a new detached thread.
  ///
  /// - Parameter name: what `ps -L` and a debugger show, at most 15 bytes of it.
  public static func start(
    _ name: StaticString, _ body: @escaping @Sendable () -> Void
  ) throws(StartError) {
    try startJoinable(name, body).detach()
  }

  /// Runs `body` on a new thread, which the caller must join or detach.
  ///
  /// - Parameter name: what `ps -L` and a debugger show, at most 15 bytes of it.
  public static func startJoinable(
    _ name: StaticString, _ body: @escaping @Sendable () -> Void
  ) throws(StartError) -> Handle {
    let start = Unmanaged.passRetained(Start(name: name, body: body))
    var thread = pthread_t()
    let code = withoutSignals {
      pthread_create(
        &thread, nil,
        { argument in
          guard let argument else { return nil }
          Unmanaged<Start>.fromOpaque(argument).takeRetainedValue().run()
          return nil
        }, start.toOpaque())
    }
    guard code == 0 else {
      start.release()
      throw StartError(code: code)
    }
    return Handle(thread: thread)
  }

  /// A new thread inherits the mask, from its first moment on. Faults of its own making stay visible.
  private static func withoutSignals(_ body: () -> Int32) -> Int32 {
    var blocked = sigset_t()
    var before = sigset_t()
    sigfillset(&blocked)
    for signal in [SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS] { sigdelset(&blocked, signal) }
    pthread_sigmask(SIG_SETMASK, &blocked, &before)
    defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
    return body()
  }

  private final class Start: Sendable {
    private let name: StaticString
    private let body: @Sendable () -> Void

    init(name: StaticString, body: @escaping @Sendable () -> Void) {
      self.name = name
      self.body = body
    }

    func run() {
      name.withUTF8Buffer { name in
        name.withMemoryRebound(to: CChar.self) { clinux_name_thread($0.baseAddress) }
      }
      body()
    }
  }
}

/// The processor time that the calling thread has used: what work costs, whatever else the machine does meanwhile.
public enum ThreadTime {
  /// In nanoseconds. A system call, unlike the other clocks.
  public static var now: Int64 {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  }
}

extension SystemThread.Handle: ConciseStringConvertible {
  /// Without the system's number.
  public var description: String { "thread" }
}
