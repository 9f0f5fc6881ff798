public import AuthEngine
public import PosternConfiguration

/// Where this process keeps its sessions.
public struct SessionStorage: Sendable {
  /// The store.
  public let store: any RecordStore
  /// Whether other processes use it too.
  public let isShared: Bool

  /// Looks at the settings of a new configuration; what it returns puts them in force where that needs no restart. Nil:
  /// none ever does.
  public var prepare: (@Sendable (StoreConfiguration) throws(ConfigurationProblems) -> @Sendable () -> Void)?

  /// Sessions in `store`.
  public init(_ store: any RecordStore, isShared: Bool = false) {
    self.store = store
    self.isShared = isShared
  }
}
