import CPosternLinux
import Glibc
import PosternRuntime

/// Accepts connections on one event loop.
final class Listener: ReadinessHandler, @unchecked Sendable {
  // Sendable because its variables are touched on the loop only.

  /// How many connections one iteration accepts: enough for the queue to shrink, and so few that open connections are
  /// not delayed.
  private static let connectionsPerIteration = 16
  /// How long the queue is left alone after a failure: without descriptors (EMFILE) the socket stays readable, and
  /// trying again at once would keep a processor busy until another connection ends.
  private static let pause = Duration.milliseconds(100)

  private let descriptor: CInt
  private let loop: EpollLoop
  private let onAccept: (CInt) -> Void
  private var isOpen = true

  /// `onAccept` gets each new connection's descriptor, which it owns. It owns `descriptor`, a listening socket.
  init(_ descriptor: CInt, on loop: EpollLoop, onAccept: @escaping (CInt) -> Void) throws(EpollError) {
    self.descriptor = descriptor
    self.loop = loop
    self.onAccept = onAccept
    // A service manager may pass one that waits: the second `accept` of an iteration would stop the loop.
    _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
    try loop.watch(descriptor, for: .readable, self)
  }

  func ready(_ readiness: Readiness) {
    for _ in 0..<Self.connectionsPerIteration where isOpen {
      let connection = clinux_accept(descriptor)
      guard connection < 0 else {
        onAccept(connection)
        continue
      }
      switch -connection {
      case EAGAIN, EWOULDBLOCK: return
      // The peer has gone while it waited.
      case EINTR, ECONNABORTED: continue
      default: return rest()
      }
    }
  }

  private func rest() {
    loop.unwatch(descriptor)
    loop.schedule(in: Self.pause) { [self] in
      // Without memory to watch it, the next attempt is as far away.
      if isOpen, (try? loop.watch(descriptor, for: .readable, self)) == nil { rest() }
    }
  }

  /// Accepts the connections of `descriptor` on the first of `loops`, and deals them out to all of them in turn, from
  /// the one behind `first`. `admit` is called on the connection's loop and owns its descriptor.
  static func start(
    _ descriptor: CInt, on loops: [ServingLoop], dealingFrom first: Int = 0,
    admit: @escaping @Sendable (CInt, ServingLoop) -> Void
  ) async throws(EpollError) -> Listener {
    let result = await withCheckedContinuation { continuation in
      let isRunning = loops[0].loop.execute {
        var next = first
        continuation.resume(
          returning: Result { () throws(EpollError) in
            try Listener(descriptor, on: loops[0].loop) { connection in
              next = (next + 1) % loops.count
              let loop = loops[next]
              guard !loop.loop.isCurrent else { return admit(connection, loop) }
              if !loop.loop.execute({ admit(connection, loop) }) { close(connection) }
            }
          })
      }
      if !isRunning { continuation.resume(returning: .failure(SocketServer.loopHasEnded)) }
    }
    return try result.get()
  }

  /// Accepts no more when this returns. From any thread but the loop's.
  func stopAccepting() async {
    await withCheckedContinuation { continuation in
      let isOpen = loop.execute {
        self.stop()
        continuation.resume()
      }
      if !isOpen { continuation.resume() }
    }
  }

  /// Accepts no more; on the loop.
  func stop() {
    guard isOpen else { return }
    isOpen = false
    loop.unwatch(descriptor)
    close(descriptor)
  }
}
