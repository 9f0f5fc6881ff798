import Glibc
import PosternSupport

/// Writes log lines to standard error without waiting. Lines that a slow reader would delay are dropped and counted,
/// and the next line that is written contains the count: a full pipe must not stop the sidecar.
package final class LogOutput: Sendable {
  /// A pipe that polls writable takes this much at once (PIPE_BUF).
  private static let longestLine = 4096

  /// The one of this process.
  package static let standardError = LogOutput()

  private let descriptor: Int32
  /// How many lines were dropped. Writes happen behind the lock: the space that one thread has found must not be used
  /// by another.
  private let dropped = Locked(0)

  /// Output to `descriptor`, by default standard error.
  package init(descriptor: Int32 = 2) { self.descriptor = descriptor }

  /// Writes one line, its line feed included; longer ones are cut.
  package func write(_ line: [UInt8]) {
    dropped.withLock { dropped in
      guard isReady else {
        dropped += 1
        return
      }
      var text = dropped > 0 ? Array("postern: \(dropped) log lines dropped, standard error was full\n".utf8) : []
      dropped = 0
      // Both at once: there may be space for one write only.
      text += line
      send(text.count <= Self.longestLine ? text : Array(text.prefix(Self.longestLine - 1)) + [UInt8(ascii: "\n")])
    }
  }

  private var isReady: Bool {
    var waiting = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    return poll(&waiting, 1, 0) == 1 && waiting.revents & Int16(POLLOUT) != 0
  }

  private func send(_ line: [UInt8]) {
    var sent = 0
    repeat {
      let count = line.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress?.advanced(by: sent), $0.count - sent) }
      if count < 0, errno == EINTR { continue }
      // The reader is gone: the error cannot be reported.
      guard count > 0 else { return }
      sent += count
    } while sent < line.count && isReady
  }
}
