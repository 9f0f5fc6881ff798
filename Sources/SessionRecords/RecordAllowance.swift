import PosternSupport

/// How much of a store one owner may take. A store compares it with what there is in the same step in which it writes,
/// so that calls of one owner that are under way together take no more than it says.
public struct RecordAllowance: Sendable, Equatable {
  /// How many records of the collection that is written to.
  public var count: Int
  /// How many bytes of contents in all collections together.
  public var bytes: Int

  /// Any number of records of any size.
  public static let unlimited = RecordAllowance(count: .max, bytes: .max)

  /// An allowance of the given parts.
  public init(count: Int, bytes: Int) {
    self.count = count
    self.bytes = bytes
  }

  /// Throws `overdrawn` when an owner with that much has no room for a further record.
  public func check(adding record: StoredRecord, to usage: RecordUsage) throws(StoreError) {
    guard usage.count(in: record.key.collection) < count else { throw .tooManyRecords }
    try check(growth: record.contents.byteCount, of: usage)
  }

  /// Throws `overdrawn` when an owner with that much has no room for so many bytes more. What does not grow always has
  /// room.
  public func check(growth: Int, of usage: RecordUsage) throws(StoreError) {
    guard growth <= 0 || growth <= bytes - usage.bytes else { throw .tooManyBytes }
  }
}

extension StoreError {
  /// The owner has as many records as the allowance says.
  public static let tooManyRecords = StoreError(
    .overdrawn, "this peer has as many sessions, logins or profiles as it may have")
  /// The owner's records have as many bytes as the allowance says.
  public static let tooManyBytes = StoreError(.overdrawn, "the sessions of this peer hold as many bytes as they may")
}
