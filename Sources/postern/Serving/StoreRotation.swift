import AuthEngine
import Logging
import PosternConfiguration
import PosternObservability
import PosternSupport
import Sidecar

/// The session store with what it is opened with: its keys and passwords change with the configuration while it runs.
final class StoreRotation: Sendable {
  private let inForce: Locked<StoreConfiguration>
  private let store: DeferredRecordStore?
  private let isNeeded: Bool
  private let replacements: FileReloadMonitor
  private let logger: Logger

  /// The storage of the configuration. Throws when a key is not valid.
  init(
    _ configuration: PosternConfiguration, _ replacements: FileReloadMonitor, _ logger: Logger
  ) throws(ConfigurationProblems) {
    isNeeded = StoreAssembly.isNeeded(by: configuration)
    var assembly = try StoreAssembly(configuration.store, isNeeded: isNeeded)
    assembly.warn = { logger.warning("\($0)") }
    inForce = Locked(configuration.store)
    self.replacements = replacements
    self.logger = logger
    store = assembly.store(report: Self.log(to: logger))
  }

  private static func log(to logger: Logger) -> StoreAssembly.Report {
    { outcome in
      switch outcome {
      case .success(let kind):
        logger.info("session store opened", metadata: .of([.kind: .string(kind.rawValue)]))
      case .failure(let error): logger.error("session store cannot be opened: \(error)")
      }
    }
  }

  /// The store as the sidecar uses it.
  var storage: SessionStorage {
    var storage =
      store.map { SessionStorage(deferred: $0, isShared: inForce.withLock { $0.kind == .redis }) }
      ?? SessionStorage(MemoryRecordStore())
    storage.prepare = { [self] configuration throws(ConfigurationProblems) in try prepare(configuration) }
    return storage
  }

  private func prepare(_ next: StoreConfiguration) throws(ConfigurationProblems) -> @Sendable () -> Void {
    var assembly = try StoreAssembly(next, isNeeded: isNeeded)
    assembly.warn = { [logger] in logger.warning("\($0)") }
    return { [self, assembly] in take(next, assembly) }
  }

  private func take(_ next: StoreConfiguration, _ assembly: StoreAssembly) {
    let current = inForce.withLock { $0 }
    // Another location requires a restart, which was logged.
    guard next.isSameLocation(as: current), let store else { return }
    guard next != current else { return replacements.store(problem: nil) }
    store.exchange(assembly.opening(report: Self.log(to: logger))) { [self] error in
      if let error { return replacements.store(problem: "\(error)") }
      inForce.withLock { $0 = next }
      replacements.store(problem: nil)
      logger.info("session store has gone over to its new keys or credentials")
    }
  }
}
