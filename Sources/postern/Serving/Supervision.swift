import CurlTransport
import LocalServer
import Logging
import PosternObservability
import PosternRuntime
import PosternSupport
import Sidecar

/// Checks regularly whether the sidecar still works, and sends heartbeats to the service manager, which restarts a
/// sidecar that hangs.
struct Supervision: Sendable {
  /// How often at the least.
  private static let interval = Duration.seconds(5)

  let manager: SystemdNotifier
  let server: SocketServer
  let service: SidecarService
  let transport: CurlTransport
  let logger: Logger

  /// Runs until the calling task is cancelled, on the pool of the calls: if that is stuck, no heartbeat is sent either.
  func run() async {
    // A look takes as long as the wait before it at most: of four in the manager's time two are there.
    let interval = manager.watchdog.map { min(Self.interval, $0 / 4) } ?? Self.interval
    while (try? await Task.sleep(for: interval)) != nil {
      if manager.watchdog != nil {
        if let stuck = await stuckPart(within: interval) {
          logger.error("no heartbeat for the service manager", metadata: .of([.stuck: .string(stuck)]))
        } else {
          manager.isWell()
        }
      }
      manager.connected(service.connectionCount)
    }
  }

  /// The part that does not respond; nil when all do.
  private func stuckPart(within time: Duration) async -> String? {
    async let sockets = server.responds(within: time)
    async let transfers = transport.responds(within: time)
    // Reads the state of every part that calls share: if one never releases its lock, this does not return, and no
    // heartbeat is sent.
    _ = service.readiness
    let (socketsRespond, transfersRespond) = await (sockets, transfers)
    return socketsRespond ? transfersRespond ? nil : "upstream connections" : "callers' connections"
  }
}
