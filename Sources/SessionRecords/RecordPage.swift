public import PosternSupport

/// A page of a uid's records, in the order in which they were added.
public struct RecordPage: Sendable, Equatable {
  /// A record and its position.
  public struct Entry: Sendable, Equatable {
    /// The record.
    public var record: StoredRecord
    /// Its position among the uid's records: greater than 0, and the same for as long as the record exists.
    public var position: Int64

    /// An entry of the given parts.
    public init(record: StoredRecord, position: Int64) {
      self.record = record
      self.position = position
    }
  }

  /// The size at which a page ends, with the record that exceeds it, whatever number of records was requested.
  public static let maxBytes = 256 << 10

  /// The records.
  public var entries: [Entry]
  /// The position after which the next page starts; nil when there are no more records.
  public var next: Int64?

  /// A page of the given parts.
  public init(entries: [Entry], next: Int64?) {
    self.entries = entries
    self.next = next
  }
}

extension RecordPage: ConciseStringConvertible {
  /// The number of records.
  public var description: String {
    Concise.text(Concise.count(entries.count, "record"), next.map { _ in "more follow" })
  }
}

extension RecordPage.Entry: ConciseStringConvertible {
  /// The record.
  public var description: String { "\(record)" }
}
