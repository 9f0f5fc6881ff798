import CLinux
import Glibc

/// The limits of this process, set before it serves.
enum ProcessLimits {
  /// As many descriptors as the system allows: every connection needs one, and the usual soft limit of 1,024 is a few short of the default
  /// `limits.connections`.
  static func raiseDescriptors() {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0, limit.rlim_cur < limit.rlim_max else {
      return
    }
    limit.rlim_cur = limit.rlim_max
    // Refused: then the connections are fewer, and accepting pauses when they run out.
    _ = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
  }

  /// No core dumps: they would hold every secret; and no debugger of the process's own user, for the same reason. False when the
  /// system refuses.
  static func forbidDumps() -> Bool {
    var none = rlimit(rlim_cur: 0, rlim_max: 0)
    return setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none) == 0 && clinux_forbid_dumps() == 0
  }
}
