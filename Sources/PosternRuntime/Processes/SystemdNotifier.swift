import Glibc
import PosternSupport

/// Reports start, reload and stop of the sidecar to the service manager (sd_notify(3)), and the watchdog interval that
/// it requires.
package final class SystemdNotifier: Sendable {
  private struct State {
    var isServing = false
    var isReloading = false
    var isStopping = false
    var failure: String?
    var connections = 0
    var reported = ""
  }

  private let notification: ServiceNotification
  private let state = Locked(State())
  /// The time within which the manager expects a heartbeat; nil: none.
  package let watchdog: Duration?

  /// The manager that the process's environment names.
  package init(environment: [String: String]) {
    notification = ServiceNotification(path: environment["NOTIFY_SOCKET"])
    let isOurs = environment["WATCHDOG_PID"].map { pid_t($0) == getpid() } ?? true
    let microseconds = environment["WATCHDOG_USEC"].flatMap(Int64.init) ?? 0
    watchdog = isOurs && microseconds > 0 && notification.isUsable ? .microseconds(microseconds) : nil
  }

  /// Whether there is a service manager.
  package var isThere: Bool { notification.isUsable }

  /// It can be connected to.
  package func ready() {
    report {
      $0.isServing = true
    } message: {
      .ready(status: $0)
    }
  }

  /// Reports a reload, unless the process does not serve yet (`READY` would be too early) or no longer.
  package func reloadBegan() {
    let isServing = state.withLock { state in
      state.isReloading = true
      return state.isServing && !state.isStopping
    }
    if isServing { notification.send(.reloading) }
  }

  /// How many are connected now.
  package func connected(_ connections: Int) {
    let status = state.withLock { state -> String? in
      state.connections = connections
      guard state.isServing, !state.isReloading else { return nil }
      return Self.news(&state)
    }
    if let status { notification.send(.status(status)) }
  }

  /// It takes no new requests.
  package func stopping() {
    report {
      $0.isStopping = true
    } message: {
      .stopping(status: $0)
    }
  }

  /// It was found to be well just now.
  package func isWell() { notification.send(.watchdog) }

  /// The reload is over; `failure`: the configuration before it stays in force, for this reason.
  package func reloadEnded(_ failure: String?) {
    let isServing = state.withLock { state in
      state.isReloading = false
      state.failure = failure
      return state.isServing && !state.isStopping
    }
    if isServing { report({ _ in }, message: { .ready(status: $0) }) }
  }

  private func report(_ change: (inout State) -> Void, message: (String) -> ServiceNotification.State) {
    let status = state.withLock { state in
      change(&state)
      state.reported = Self.status(state)
      return state.reported
    }
    notification.send(message(status))
  }

  /// The status when it differs from the reported one.
  private static func news(_ state: inout State) -> String? {
    let status = status(state)
    guard status != state.reported else { return nil }
    state.reported = status
    return status
  }

  private static func status(_ state: State) -> String {
    let connections = "\(state.connections) connection\(state.connections == 1 ? "" : "s")"
    if state.isStopping { return "Draining \(connections)" }
    guard let failure = state.failure else { return "Serving \(connections)" }
    return
      "Serving \(connections); the last reload failed, the configuration before it is in force: \(line(failure))"
  }

  /// One line of the protocol, and no more than a look's worth.
  private static func line(_ text: String) -> String {
    let clean = text.unicodeScalars.prefix(300).map { $0.value < 0x20 ? " " : Character($0) }
    return String(clean)
  }
}
