import AuthEngine
import Configuration
import Logging
import SessionStore
import Sidecar
import Support

/// The session store that the configuration asks for.
struct StoreAssembly {
  let configuration: StoreConfiguration
  let logger: Logger

  /// Opened when it is first needed: a sidecar that nobody asks for sessions writes nothing anywhere.
  func storage() -> SessionStorage {
    switch configuration.kind {
    case .memory: SessionStorage(MemoryRecordStore())
    case .file, .redis:
      SessionStorage(
        DeferredRecordStore(clock: SystemClock()) { () async throws(StoreError) in try await opened() },
        isShared: configuration.kind == .redis)
    }
  }

  private func opened() async throws(StoreError) -> any RecordStore {
    do throws(StoreError) {
      let store = try await open()
      logger.info("session store opened", metadata: ["kind": .string(configuration.kind.rawValue)])
      return store
    } catch {
      logger.error("session store cannot be opened: \(error)")
      throw error
    }
  }

  private func open() async throws(StoreError) -> any RecordStore {
    let key = try configuration.key.map { key throws(StoreError) in try StoreKey(contents: key.value.reveal()) }
    guard configuration.kind == .redis else {
      return try await FileRecordStore.open(.init(directory: configuration.path, key: key))
    }
    guard let redis = configuration.redis else { throw StoreError(.unusable, "store.redis is missing") }
    // All replicas must have the same key, so that none can be made up here.
    guard let key else { throw StoreError(.unusable, "store.kind: redis needs store.keyFile") }
    var target = RedisRecordStore.Configuration(url: redis.url, key: key)
    target.password = redis.password?.value
    return try await RedisRecordStore.open(target)
  }
}
