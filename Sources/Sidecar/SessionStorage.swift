public import AuthEngine

/// Where this process keeps its sessions.
public struct SessionStorage: Sendable {
  /// The store.
  public let store: any RecordStore
  /// Whether other processes use it too.
  public let isShared: Bool

  /// Sessions in `store`.
  public init(_ store: any RecordStore, isShared: Bool = false) {
    self.store = store
    self.isShared = isShared
  }
}
