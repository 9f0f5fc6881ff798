import CurlTransport
import Logging
import PosternSupport
import Sidecar
import SocketServer

/// Looks again and again whether the sidecar still works, and tells the service manager: a sidecar that hangs gives no
/// sign of life, and is started anew.
struct Supervision: Sendable {
  /// How often at the least.
  private static let interval = Duration.seconds(5)

  let manager: SystemdNotifier
  let server: SocketServer
  let service: SidecarService
  let transport: CurlTransport
  let logger: Logger

  /// Until the calling task is cancelled. It runs where calls do: on a pool that is stuck it does not get its turn
  /// either.
  func run() async {
    // A look takes as long as the wait before it at most: of four in the manager's time two are there.
    let interval = manager.watchdog.map { min(Self.interval, $0 / 4) } ?? Self.interval
    while (try? await Task.sleep(for: interval)) != nil {
      if manager.watchdog != nil {
        if let stuck = await stuckPart(within: interval) {
          logger.error("no sign of life for the service manager", metadata: ["stuck": .string(stuck)])
        } else {
          manager.isWell()
        }
      }
      manager.connected(service.connectionCount)
    }
  }

  /// What does not get round to anything new; nil when everything does.
  private func stuckPart(within time: Duration) async -> String? {
    async let sockets = server.responds(within: time)
    async let transfers = transport.responds(within: time)
    // Asks every part that calls share for its state: one that never lets go of its lock is noticed, for this does not
    // return.
    _ = service.readiness
    let (socketsTurn, transfersTurn) = await (sockets, transfers)
    return socketsTurn ? transfersTurn ? nil : "upstream connections" : "callers' connections"
  }
}
