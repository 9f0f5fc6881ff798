public import PosternSupport

/// The exclusive right to refresh a record, for a limited time.
public struct RecordLease: Sendable, Hashable {
  /// The record.
  public let key: RecordKey
  /// Grows with every lease of the record. A write under a lease fails once a later one has been granted, so that a
  /// process that was suspended for too long cannot overwrite the work of its successor.
  public let fence: UInt64
  /// Identifies this lease: only the process that has it can give it back.
  public let token: [UInt8]

  /// A lease of the given parts; made by stores.
  public init(key: RecordKey, fence: UInt64, token: [UInt8]) {
    self.key = key
    self.fence = fence
    self.token = token
  }
}

extension RecordLease: ConciseStringConvertible {
  /// The record: never the lease's token.
  public var description: String { "lease \(fence) of \(key)" }
}
