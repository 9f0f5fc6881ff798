import Glibc
import PosternSupport

/// Detects a tracer of this process: `TracerPid` of `/proc/self/status`. Shows only what attaches to the whole process,
/// as debuggers do.
package final class DebuggerCheck: Sendable {
  /// How long the absence of a tracer is cached. The kernel formats the whole file for each read, which costs as much
  /// as the other checks of a small fetch; and a read does not show a tracer that attaches right after it either.
  static let validity = Duration.milliseconds(2)

  private let descriptor: Int32
  private let clock = SystemClock()
  private let untracedUntil = Locked(MonotonicInstant(nanoseconds: 0))

  /// Nil where `/proc` is not there.
  package init?() {
    descriptor = open("/proc/self/status", O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
  }

  deinit { close(descriptor) }

  /// Whether a debugger is there, as of the last two milliseconds. What cannot be read counts as traced.
  package var isTraced: Bool {
    let now = clock.monotonicNow
    guard untracedUntil.withLock({ $0 <= now }) else { return false }
    guard !look() else { return true }
    untracedUntil.withLock { $0 = now + Self.validity }
    return false
  }

  private func look() -> Bool {
    // The line is near the beginning; the names before it are bounded.
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
