/// The time limits of one connection, each brought into the range that the event loop's clock can count in.
struct ConnectionTimeouts: Sendable {
  /// See `SocketServer.Configuration.stallTimeout`.
  let stall: Duration
  /// See `SocketServer.Configuration.writeTimeout`.
  let write: Duration
  /// See `SocketServer.Configuration.lingerTime`.
  let linger: Duration

  /// Longer is as good as never.
  private static let longest = Duration.seconds(365 * 86_400)

  init(stall: Duration, write: Duration, linger: Duration) {
    self.stall = min(max(stall, .milliseconds(1)), Self.longest)
    self.write = min(max(write, .milliseconds(1)), Self.longest)
    self.linger = min(max(linger, .zero), Self.longest)
  }
}
