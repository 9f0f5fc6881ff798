import Glibc

/// Whether somebody traces this process: `TracerPid` of `/proc/self/status`. Only what attaches to the whole process, as debuggers
/// do, is seen.
final class DebuggerCheck: Sendable {
  private let descriptor: Int32

  /// Nil where `/proc` is not there.
  init?() {
    descriptor = open("/proc/self/status", O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
  }

  deinit { close(descriptor) }

  /// Looks now. What cannot be read counts as traced.
  var isTraced: Bool {
    // It stands near the beginning, behind names that are bounded.
    withUnsafeTemporaryAllocation(byteCount: 1024, alignment: 1) { buffer in
      let count = pread(descriptor, buffer.baseAddress, buffer.count, 0)
      guard count > 0 else { return true }
      let text = String(decoding: UnsafeRawBufferPointer(rebasing: buffer[..<count]), as: UTF8.self)
      for line in text.split(separator: "\n") where line.hasPrefix("TracerPid:") {
        return line.dropFirst("TracerPid:".count).trimmingPrefix(while: \.isWhitespace) != "0"
      }
      return true
    }
  }
}
