import CPosternLinux
import Glibc

/// The limits of this process, set before it serves.
enum ProcessLimits {
  /// Puts /dev/null in the place of standard descriptors that are closed: whatever is opened first would get log lines
  /// otherwise.
  static func openStandardDescriptors() {
    for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
      _ = open("/dev/null", O_RDWR)
    }
  }

  /// As many descriptors as the system allows: every connection needs one, and the usual soft limit of 1,024 is a few
  /// short of the default `limits.connections`.
  static func raiseDescriptors() {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0, limit.rlim_cur < limit.rlim_max else {
      return
    }
    limit.rlim_cur = limit.rlim_max
    // Refused: then the connections are fewer, and accepting pauses when they run out.
    _ = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
  }

  /// The descriptors this process may have open.
  static var descriptorLimit: Int {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return .max }
    return Int(clamping: limit.rlim_cur)
  }

  /// Those that are open now: what a parent left open stands at the lowest numbers.
  static var openDescriptors: Int {
    (0..<Int32(min(descriptorLimit, 4096))).count(where: { fcntl($0, F_GETFD) >= 0 })
  }

  /// Gives memory that nothing uses back to the system, from all of malloc's arenas. Takes some milliseconds, in which
  /// others may have to wait for an arena.
  static func trimMemory() { clinux_trim_memory() }

  /// As much locked memory as the system allows: secrets are kept in it.
  static func raiseLockedMemory() {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(__RLIMIT_MEMLOCK.rawValue), &limit) == 0, limit.rlim_cur < limit.rlim_max else {
      return
    }
    limit.rlim_cur = limit.rlim_max
    // Refused: then more of it is not locked, which is said.
    _ = setrlimit(__rlimit_resource_t(__RLIMIT_MEMLOCK.rawValue), &limit)
  }

  /// Memory of large messages and bodies goes back to the system when they are done with: by default glibc keeps blocks
  /// of up to 32 MiB once one of that size was freed, so that ten uploads of 15 MiB leave a process of 100 MiB. Bodies
  /// of 1 MiB stay on the heap, where they are faster; of what is free at its end 2 MiB are kept, for each arena, which
  /// nothing but a free gives back. Refused: then it is as by default.
  static func returnMemory() { _ = clinux_return_memory(4 << 20, 2 << 20) }

  /// No core dumps: they would hold every secret; and no debugger of the process's own user, for the same reason. False
  /// when the system refuses.
  static func forbidDumps() -> Bool {
    var none = rlimit(rlim_cur: 0, rlim_max: 0)
    return setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none) == 0 && clinux_forbid_dumps() == 0
  }
}
