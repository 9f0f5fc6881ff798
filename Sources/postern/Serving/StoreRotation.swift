import AuthEngine
import Logging
import PosternConfiguration
import PosternSupport
import Sidecar

/// The session store with what it is opened with: its keys and passwords change with the configuration while it runs.
final class StoreRotation: Sendable {
  private let inForce: Locked<StoreConfiguration>
  private let store: (any RecordStore)?
  private let isNeeded: Bool
  private let replacements: FileReloadMonitor
  private let logger: Logger

  /// The storage that the configuration asks for. Throws when a key is none.
  init(
    _ configuration: PosternConfiguration, _ replacements: FileReloadMonitor, _ logger: Logger
  ) throws(ConfigurationProblems) {
    isNeeded = StoreAssembly.isNeeded(by: configuration)
    let assembly = try StoreAssembly(configuration.store, isNeeded: isNeeded)
    inForce = Locked(configuration.store)
    self.replacements = replacements
    self.logger = logger
    store = assembly.store(logger: logger)
  }

  /// The store as the sidecar uses it.
  var storage: SessionStorage {
    var storage = SessionStorage(store ?? MemoryRecordStore(), isShared: inForce.withLock { $0.kind == .redis })
    storage.prepare = { [self] configuration throws(ConfigurationProblems) in try prepare(configuration) }
    return storage
  }

  private func prepare(_ wanted: StoreConfiguration) throws(ConfigurationProblems) -> @Sendable () -> Void {
    let assembly = try StoreAssembly(wanted, isNeeded: isNeeded)
    return { [self] in take(wanted, assembly) }
  }

  private func take(_ wanted: StoreConfiguration, _ assembly: StoreAssembly) {
    let current = inForce.withLock { $0 }
    // Another place takes a restart, which has been said.
    guard wanted.isSamePlace(as: current), let store = store as? DeferredRecordStore else { return }
    guard wanted != current else { return replacements.store(problem: nil) }
    store.exchange(assembly.opening(logger: logger)) { [self] error in
      if let error { return replacements.store(problem: "\(error)") }
      inForce.withLock { $0 = wanted }
      replacements.store(problem: nil)
      logger.info("session store has gone over to its new keys or credentials")
    }
  }
}
