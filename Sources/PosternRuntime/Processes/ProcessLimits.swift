import CPosternLinux
import Glibc

/// The limits of this process, set before it serves.
package enum ProcessLimits {
  /// Opens /dev/null for standard descriptors that are closed: otherwise log lines would be written to the first file
  /// that is opened.
  package static func openStandardDescriptors() {
    for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
      _ = open("/dev/null", O_RDWR)
    }
  }

  /// Raises the limit of descriptors to the maximum: every connection needs one, and the usual soft limit of 1,024 is a
  /// few short of the default `limits.connections`.
  package static func raiseDescriptors() {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0, limit.rlim_cur < limit.rlim_max else {
      return
    }
    limit.rlim_cur = limit.rlim_max
    // If that fails, there are fewer connections, and accepting pauses when descriptors run out.
    _ = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
  }

  /// The descriptors this process may have open.
  package static var descriptorLimit: Int {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return .max }
    return Int(clamping: limit.rlim_cur)
  }

  /// The number of open descriptors: those that a parent left open have the lowest numbers.
  package static var openDescriptors: Int {
    (0..<Int32(min(descriptorLimit, 4096))).count(where: { fcntl($0, F_GETFD) >= 0 })
  }

  /// Gives memory that nothing uses back to the system, from all of malloc's arenas. Takes some milliseconds, in which
  /// others may have to wait for an arena.
  package static func trimMemory() { clinux_trim_memory() }

  /// Unmaps the pages of code, most of which only the start needed. One that is used again costs a microsecond, once.
  package static func releaseCode() { clinux_release_code() }

  /// Raises the limit of locked memory to the maximum: secrets are kept in it.
  package static func raiseLockedMemory() {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(__RLIMIT_MEMLOCK.rawValue), &limit) == 0, limit.rlim_cur < limit.rlim_max else {
      return
    }
    limit.rlim_cur = limit.rlim_max
    // If that fails, less of it is locked, and `health` shows that.
    _ = setrlimit(__rlimit_resource_t(__RLIMIT_MEMLOCK.rawValue), &limit)
  }

  /// Memory of large messages and bodies goes back to the system when they are done with: by default glibc keeps blocks
  /// of up to 32 MiB once one of that size was freed, so that ten uploads of 15 MiB leave a process of 100 MiB. Bodies
  /// of 1 MiB stay on the heap, where they are faster; of what is free at its end 2 MiB are kept, for each arena, which
  /// nothing but a free gives back. If that fails, the default stays.
  package static func returnMemory() { _ = clinux_return_memory(4 << 20, 2 << 20) }

  /// No core dumps: they would hold every secret; and no debugger of the process's own user, for the same reason. False
  /// when that fails.
  package static func forbidDumps() -> Bool {
    var none = rlimit(rlim_cur: 0, rlim_max: 0)
    return setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none) == 0 && clinux_forbid_dumps() == 0
  }
}
