import Glibc
import PosternSupport

/// Standard error as the log's end: never waits. Lines that a reader too slow to take them would hold up are counted
/// and dropped, and the next line that goes out says how many: a full pipe must not stop the sidecar.
public final class LogOutput: Sendable {
  /// A pipe that polls writable takes this much at once (PIPE_BUF).
  private static let longestLine = 4096

  /// The one of this process.
  public static let standardError = LogOutput()

  private let descriptor: Int32
  /// How many lines were. Whoever has the lock writes: the room that one has found another must not take before it is
  /// used.
  private let dropped = Locked(0)

  /// Output to `descriptor`, standard error unless told otherwise.
  public init(descriptor: Int32 = 2) { self.descriptor = descriptor }

  /// Writes one line, its line feed included; longer ones are cut.
  public func write(_ line: [UInt8]) {
    dropped.withLock { dropped in
      guard isReady else {
        dropped += 1
        return
      }
      var text = dropped > 0 ? Array("postern: \(dropped) log lines dropped, standard error was full\n".utf8) : []
      dropped = 0
      // Both at once: there may be room for one write only.
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
      // Nobody reads the log any more: there is nobody to tell.
      guard count > 0 else { return }
      sent += count
    } while sent < line.count && isReady
  }
}
