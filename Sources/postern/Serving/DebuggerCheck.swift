import Glibc
import PosternSupport

/// Whether somebody traces this process: `TracerPid` of `/proc/self/status`. Only what attaches to the whole process,
/// as debuggers do, is seen.
final class DebuggerCheck: Sendable {
  /// How long "nobody" is believed. The kernel writes the whole file anew for each look, which costs as much as the
  /// rest of a small fetch's checks; and whoever attaches right after a look is not seen by it either.
  static let validity = Duration.milliseconds(2)

  private let descriptor: Int32
  private let clock = SystemClock()
  private let untracedUntil = Locked(MonotonicInstant(nanoseconds: 0))

  /// Nil where `/proc` is not there.
  init?() {
    descriptor = open("/proc/self/status", O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
  }

  deinit { close(descriptor) }

  /// Whether a debugger is there, as of the last two milliseconds. What cannot be read counts as traced.
  var isTraced: Bool {
    let now = clock.monotonicNow
    guard untracedUntil.withLock({ $0 <= now }) else { return false }
    guard !look() else { return true }
    untracedUntil.withLock { $0 = now + Self.validity }
    return false
  }

  private func look() -> Bool {
    // It stands near the beginning, behind names that are bounded.
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: 1024) { buffer in
      guard let base = buffer.baseAddress else { return true }
      let count = pread(descriptor, base, buffer.count - 1, 0)
      guard count > 0 else { return true }
      buffer[count] = 0
      let name = "\nTracerPid:\t"
      guard let line = strstr(base, name) else { return true }
      return strncmp(line + name.utf8.count, "0\n", 2) != 0
    }
  }
}
