import Glibc

/// A program that runs while this process waits for its end.
package enum ChildProcess {
  /// It could not be run.
  package struct Failure: Error {
    /// The reason, as system calls report it.
    package let errno: Int32
  }

  /// How it has ended.
  package enum Ending {
    case exited(Int32)
    case killed(signal: Int32)

    /// The status for the end of this process; where it was a signal, this process gets it here.
    package func status() -> Int32 {
      switch self {
      case .exited(let status): return status
      case .killed(let number):
        // One core dump, if any, is enough: the program's.
        var none = rlimit(rlim_cur: 0, rlim_max: 0)
        setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
        signal(number, SIG_DFL)
        kill(getpid(), number)
        return 128 + number
      }
    }
  }

  /// The signals that end programs, or that mean something to them.
  private static let forwarded = [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2]

  /// SIG_IGN as a number; functions cannot be compared.
  private static let ignored = 1

  // Set before the first handler is installed, and read by handlers.
  nonisolated(unsafe) private static var child: pid_t = 0
  nonisolated(unsafe) private static var early: Int32 = 0

  /// Runs `command` with this process's environment and descriptors, and passes signals on to it.
  package static func run(_ command: [String]) throws(Failure) -> Ending {
    for number in forwarded { forward(number) }
    // Where it is ignored, the kernel keeps no status.
    signal(SIGCHLD, SIG_DFL)
    let arguments: [UnsafeMutablePointer<CChar>?] = command.map { strdup($0) } + [nil]
    var pid: pid_t = 0
    let failed = posix_spawnp(&pid, command[0], nil, nil, arguments, environ)
    guard failed == 0 else { throw Failure(errno: failed) }
    child = pid
    if early != 0 { kill(pid, early) }
    var status: Int32 = 0
    while waitpid(pid, &status, 0) < 0 {
      guard errno == EINTR else { throw Failure(errno: errno) }
    }
    let number = status & 0x7F
    return number == 0 ? .exited((status >> 8) & 0xFF) : .killed(signal: number)
  }

  /// Passes a signal on, unless this process ignores it. What a terminal sends has reached the program already, where
  /// it is in the same group of processes.
  private static func forward(_ number: Int32) {
    var action = sigaction()
    guard sigaction(number, nil, &action) == 0,
      unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) != ignored
    else { return }
    action.__sigaction_handler.sa_sigaction = { number, info, _ in
      let pid = ChildProcess.child
      guard pid > 0 else { return ChildProcess.early = number }
      if let info, info.pointee.si_code > 0, getpgid(pid) == getpgrp() { return }
      kill(pid, number)
    }
    action.sa_flags = SA_SIGINFO | SA_RESTART
    sigaction(number, &action, nil)
  }
}
