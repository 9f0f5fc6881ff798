package import AuthEngine
package import PosternConfiguration

/// Where this process keeps its sessions.
package struct SessionStorage: Sendable {
  /// The store.
  package let store: any RecordStore
  /// Whether other processes use it too.
  package let isShared: Bool

  /// Looks at the settings of a new configuration; what it returns puts them in force where that needs no restart. Nil:
  /// none ever does.
  package var prepare: (@Sendable (StoreConfiguration) throws(ConfigurationProblems) -> @Sendable () -> Void)?

  /// Sessions in `store`.
  package init(_ store: any RecordStore, isShared: Bool = false) {
    self.store = store
    self.isShared = isShared
  }
}
