public import Logging
import PosternSupport

/// What was replaced in a running process by something of no use, so that what was there before stays in force: files
/// of certificates and keys, the store's key.
///
/// Each is logged once when it begins and once when it ends, and shows in `health` as a check of its own meanwhile.
public final class FileReloadMonitor: Sendable {
  private struct State {
    var problems: [String: String] = [:]
    var observer: (@Sendable () -> Void)?
  }

  private let state = Locked(State())
  private let logger: Logger

  /// Nothing replaced yet.
  public init(logger: Logger) { self.logger = logger }

  /// What became of the file at `path`; nil: it is of use.
  public func file(_ path: String, problem: String?) { note("file.\(path)", problem) }

  /// What became of the settings of the session store; nil: they are in force.
  public func store(problem: String?) { note("store", problem) }

  /// Every configured file has been read anew and is of use.
  func filesAreWell() {
    for check in problems.keys where check.hasPrefix("file.") { note(check, nil) }
  }

  /// What is wrong, by the name of its check.
  var problems: [String: String] { state.withLock { $0.problems } }

  /// Calls `observer` after each change.
  func onChange(_ observer: @escaping @Sendable () -> Void) { state.withLock { $0.observer = observer } }

  private func note(_ check: String, _ problem: String?) {
    let before = state.withLock { state in
      let before = state.problems[check]
      state.problems[check] = problem
      return before
    }
    guard before != problem else { return }
    if let problem {
      logger.warning(
        "a replacement is of no use, what was there before it stays in force",
        metadata: ["what": .string(check), "problem": .string(problem)])
    } else {
      logger.info("a replacement is of use now", metadata: ["what": .string(check)])
    }
    state.withLock { $0.observer }?()
  }
}
