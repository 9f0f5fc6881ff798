package import Logging
import PosternObservability
import PosternSupport

/// Records files and keys that were replaced, while the process runs, by invalid ones, so that the previous ones stay
/// in force: certificates, keys, the store's key.
///
/// Each is logged once when it begins and once when it ends, and shows in `health` as a check of its own meanwhile.
package final class FileReloadMonitor: Sendable {
  private struct State {
    var problems: [String: String] = [:]
    var observer: (@Sendable () -> Void)?
  }

  private let state = Locked(State())
  private let logger: Logger

  /// Nothing replaced yet.
  package init(logger: Logger) { self.logger = logger }

  /// Records the state of the file at `path`; nil: it is valid.
  package func file(_ path: String, problem: String?) { note("file.\(path)", problem) }

  /// Records the state of the settings of the session store; nil: they are in force.
  package func store(problem: String?) { note("store", problem) }

  /// Records that every configured file was read again and is valid.
  func filesAreWell() {
    for check in problems.keys where check.hasPrefix("file.") { note(check, nil) }
  }

  /// The errors, by the name of the check.
  package var problems: [String: String] { state.withLock { $0.problems } }

  /// Calls `observer` after each change.
  package func onChange(_ observer: @escaping @Sendable () -> Void) { state.withLock { $0.observer = observer } }

  private func note(_ check: String, _ problem: String?) {
    let before = state.withLock { state in
      let before = state.problems[check]
      state.problems[check] = problem
      return before
    }
    guard before != problem else { return }
    if let problem {
      logger.warning(
        "a replaced file or key is not valid, the previous one stays in force",
        metadata: .of([.what: .string(check), .error: .string(problem)]))
    } else {
      logger.info("a replaced file or key is valid again", metadata: .of([.what: .string(check)]))
    }
    state.withLock { $0.observer }?()
  }
}
