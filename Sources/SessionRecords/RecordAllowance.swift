public import PosternSupport

/// The share of a store that one uid may use. A store checks it in the same step in which it writes, so that
/// concurrent calls of one uid do not exceed it together.
public struct RecordAllowance: Sendable, Equatable {
  /// The maximum number of records in the collection of the write.
  public var count: Int
  /// The maximum size of contents in bytes, in all collections together.
  public var bytes: Int
  /// The collection whose oldest records of the same uid a write replaces instead of being rejected, as many as it
  /// needs, and at most `maxReplaced`. Other collections' records make no room in number. Nil: none are replaced.
  public var replaceable: RecordKey.Collection?
  /// A record that is not replaced: the login that the write completes.
  public var spared: RecordKey?

  /// How many records one write replaces at most.
  public static let maxReplaced = 1000

  /// Any number of records of any size.
  public static let unlimited = RecordAllowance(count: .max, bytes: .max)

  /// An allowance of the given parts.
  public init(count: Int, bytes: Int, replaceable: RecordKey.Collection? = nil) {
    self.count = count
    self.bytes = bytes
    self.replaceable = replaceable
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

  /// What has to go before a uid with that usage can have a further record.
  package func excess(adding record: StoredRecord, to usage: RecordUsage) throws(StoreError) -> RecordExcess {
    var excess = excess(growth: record.contents.byteCount, of: usage)
    excess.count = count == .max ? 0 : max(0, usage.count(in: record.key.collection) + 1 - count)
    guard excess.count == 0 || replaceable == record.key.collection else { throw .tooManyRecords }
    return excess
  }

  /// What has to go before a uid with that usage can have so many more bytes.
  package func excess(growth: Int, of usage: RecordUsage) -> RecordExcess {
    guard growth > 0, bytes != .max else { return RecordExcess() }
    return RecordExcess(bytes: max(0, usage.bytes + growth - bytes))
  }
}

/// What a write has too much: as many records, with as many bytes, it replaces.
package struct RecordExcess: Sendable, Equatable, ConciseStringConvertible {
  package var count = 0
  package var bytes = 0

  /// Whether the write can be made.
  package var isNone: Bool { count <= 0 && bytes <= 0 }

  /// A record with so many bytes goes.
  package mutating func remove(byteCount: Int) {
    count -= 1
    bytes -= byteCount
  }

  /// The error of a write for which not enough can be replaced.
  package var error: StoreError { count > 0 ? .tooManyRecords : .tooManyBytes }

  package var description: String { "\(Concise.count(count, "record")), \(Concise.count(bytes, "byte"))" }
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
    guard self != .unlimited else { return "no limit" }
    return Concise.text(
      Concise.count(count, "record"), Concise.count(bytes, "byte"),
      replaceable.map { "the oldest of \($0.rawValue) are replaced" })
  }
}
