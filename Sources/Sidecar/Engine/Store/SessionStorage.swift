package import AuthEngine
package import PosternConfiguration

/// Where this process keeps its sessions.
package struct SessionStorage: Sendable {
  /// The store.
  package let store: any RecordStore
  /// The same store if it is opened when it is first needed; nil: it is open.
  package let deferred: DeferredRecordStore?
  /// Whether other processes use it too.
  package let isShared: Bool

  /// Looks at the settings of a new configuration; what it returns puts them in force where that needs no restart. Nil:
  /// none ever does.
  package var prepare: (@Sendable (StoreConfiguration) throws(ConfigurationProblems) -> @Sendable () -> Void)?

  /// Sessions in `store`.
  package init(_ store: any RecordStore, isShared: Bool = false) {
    self.store = store
    deferred = nil
    self.isShared = isShared
  }

  /// Sessions in a store that is opened when it is first needed.
  package init(deferred store: DeferredRecordStore, isShared: Bool) {
    self.store = store
    deferred = store
    self.isShared = isShared
  }
}
