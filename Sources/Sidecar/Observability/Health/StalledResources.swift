package import Logging
package import PosternSupport

/// The resources with HTTP/2 whose server kept their thread busy until all their connections were shut down. Each is
/// logged, at a bounded rate, and degrades `health` for a minute.
package final class StalledResources: Sendable {
  /// How long a resource degrades `health`.
  static let showTime = Duration.seconds(60)

  private let lastStalls = Locked<[String: MonotonicInstant]>([:])
  private let log: BoundedLog
  private let clock: any EngineClock

  /// None yet.
  package init(logger: Logger, clock: any EngineClock) {
    log = BoundedLog(logger, clock: clock)
    self.clock = clock
  }

  /// The connections of `resource` were shut down.
  package func note(_ resource: String) {
    let now = clock.monotonicNow
    lastStalls.withLock { $0[resource] = now }
    log.log(
      .warning, "a server kept the thread of a resource with HTTP/2 busy, and its connections were shut down",
      about: resource, ["resource": .string(resource)])
  }

  /// How long ago each resource stalled, where that is less than `showTime`.
  package var recent: [String: Duration] {
    let now = clock.monotonicNow
    return lastStalls.withLock { $0.mapValues { now - $0 }.filter { $0.value < Self.showTime } }
  }
}
