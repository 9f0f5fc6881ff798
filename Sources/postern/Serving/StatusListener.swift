import LocalServer
import Logging
import PosternConfiguration
import PosternObservability
import PosternSupport
import Sidecar

/// The status server where the configuration wants one. A process that takes over from another one waits for its
/// address.
final class StatusListener: Sendable {
  /// How often an address is tried that another process still has.
  private static let interval = Duration.milliseconds(500)

  /// After so many attempts it is no process that drains.
  private static let patience = 120

  private let server = Locked<HTTPStatusServer?>(nil)
  private let waiting = Locked<Task<Void, Never>?>(nil)

  private init() {}

  /// Nil where none is wanted. An address that is in use is an error, unless the process `isTakingOver`.
  static func start(
    _ configuration: HTTPConfiguration, _ pages: StatusPages, isTakingOver: Bool, _ logger: Logger
  ) async throws(HTTPStatusServer.Failure) -> StatusListener? {
    guard let address = configuration.listen else { return nil }
    let listener = StatusListener()
    let listen: @Sendable () async throws(HTTPStatusServer.Failure) -> Void = {
      () async throws(HTTPStatusServer.Failure) in
      let server = try await HTTPStatusServer.start(on: address, beyondLoopback: configuration.beyondLoopback) {
        await pages.page($0)
      }
      listener.server.withLock { $0 = server }
      logger.info("serving status", metadata: .of([.port: .stringConvertible(server.port)]))
    }
    do throws(HTTPStatusServer.Failure) {
      try await listen()
    } catch {
      guard error.isInUse, isTakingOver else { throw error }
      logger.notice("http.listen: in use, by the process before this one perhaps; trying again")
      let task = Task {
        var attempts = 0
        while (try? await Task.sleep(for: Self.interval)) != nil {
          attempts += 1
          if attempts == Self.patience { logger.error("http.listen: still in use: by another program?") }
          do throws(HTTPStatusServer.Failure) {
            return try await listen()
          } catch {
            guard error.isInUse else { return logger.error("http.listen: \(error.description)") }
          }
        }
      }
      listener.waiting.withLock { $0 = task }
    }
    return listener
  }

  /// Ends it.
  func close() async {
    let task = waiting.withLock { $0 }
    task?.cancel()
    await task?.value
    await server.withLock { $0 }?.close()
  }
}
