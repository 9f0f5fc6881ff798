import AuthEngine
import Configuration
import Sidecar
import Support

/// The session store that the configuration asks for.
enum StoreAssembly {
  /// Opened when it is first needed: a sidecar that nobody asks for sessions writes nothing anywhere.
  static func storage(_ configuration: StoreConfiguration) -> SessionStorage {
    switch configuration.kind {
    case .memory: return SessionStorage(MemoryRecordStore())
    case .file, .redis:
      let store = DeferredRecordStore(clock: SystemClock()) { () async throws(StoreError) in
        throw StoreError(.unusable, "store.kind: \(configuration.kind.rawValue) is not in this release")
      }
      return SessionStorage(store, isShared: configuration.kind == .redis)
    }
  }
}
