package import PosternJSON
import PosternJSONRPC
import PosternProtocol
package import PosternSupport

/// Looks at how the process protects itself, no more than once a second: looking costs a few system calls, and
/// `getInfo` none.
package final class HardeningWatch: Sendable {
  static let validity = Duration.seconds(1)

  private struct State {
    var report = HardeningReport()
    var until: MonotonicInstant?
    /// The last answer to `getInfo`, and what it was written of.
    var answer: (info: ProcessInfo, report: HardeningReport, text: JSONText)?
  }

  private let look: @Sendable () -> HardeningReport
  private let clock: any EngineClock
  private let state = Locked(State())

  package init(clock: any EngineClock, look: @escaping @Sendable () -> HardeningReport) {
    self.clock = clock
    self.look = look
  }

  /// The protections in force, at most a second old.
  package var report: HardeningReport {
    let now = clock.monotonicNow
    let known = state.withLock { state in state.until.flatMap { now < $0 ? state.report : nil } }
    if let known { return known }
    let report = look()
    state.withLock {
      $0.report = report
      $0.until = now + Self.validity
    }
    return report
  }

  /// The answer to `getInfo`, encoded again when something in it has changed.
  package func answer(_ info: ProcessInfo) -> JSONText {
    let report = report
    let known = state.withLock { state in
      state.answer.flatMap { $0.info === info && $0.report == report ? $0.text : nil }
    }
    if let known { return known }
    let text = info.text(report)
    state.withLock { $0.answer = (info, report, text) }
    return text
  }
}
