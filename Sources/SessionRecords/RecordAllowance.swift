public import PosternSupport

/// The share of a store that one uid may use. A store checks it in the same step in which it writes, so that
/// concurrent calls of one uid do not exceed it together.
public struct RecordAllowance: Sendable, Equatable {
  /// The maximum number of records in the collection of the write.
  public var count: Int
  /// The maximum size of contents in bytes, in all collections together.
  public var bytes: Int

  /// Any number of records of any size.
  public static let unlimited = RecordAllowance(count: .max, bytes: .max)

  /// An allowance of the given parts.
  public init(count: Int, bytes: Int) {
    self.count = count
    self.bytes = bytes
  }

  /// Throws `overdrawn` when a uid with that usage has no capacity for a further record.
  public func check(adding record: StoredRecord, to usage: RecordUsage) throws(StoreError) {
    guard usage.count(in: record.key.collection) < count else { throw .tooManyRecords }
    try check(growth: record.contents.byteCount, of: usage)
  }

  /// Throws `overdrawn` when a uid with that usage has no capacity for so many more bytes. A record that does not
  /// grow is always allowed.
  public func check(growth: Int, of usage: RecordUsage) throws(StoreError) {
    guard growth <= 0 || growth <= bytes - usage.bytes else { throw .tooManyBytes }
  }
}

extension StoreError {
  /// The error for a uid with the maximum number of records.
  public static let tooManyRecords = StoreError(
    .overdrawn, "this peer has as many sessions, logins or profiles as it may have")
  /// The error for a uid whose records have the maximum size.
  public static let tooManyBytes = StoreError(
    .overdrawn, "the sessions of this peer have as many bytes as limits.sessionBytesPerUid allows")
}

extension RecordAllowance: ConciseStringConvertible {
  /// Count and bytes.
  public var description: String {
    self == .unlimited ? "no limit" : "\(Concise.count(count, "record")), \(Concise.count(bytes, "byte"))"
  }
}
