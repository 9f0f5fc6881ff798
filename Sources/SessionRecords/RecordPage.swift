/// Some of an owner's records, in the order in which they were added.
public struct RecordPage: Sendable, Equatable {
  /// A record and its place.
  public struct Entry: Sendable, Equatable {
    /// The record.
    public var record: StoredRecord
    /// Its place among the owner's records: greater than 0, and the same for as long as the record exists.
    public var position: Int64

    /// An entry of the given parts.
    public init(record: StoredRecord, position: Int64) {
      self.record = record
      self.position = position
    }
  }

  /// A page ends with the record whose contents bring it over so many bytes, however many records were asked for.
  public static let maxBytes = 256 << 10

  /// The records.
  public var entries: [Entry]
  /// Behind which position to go on; nil: there is nothing more.
  public var next: Int64?

  /// A page of the given parts.
  public init(entries: [Entry], next: Int64?) {
    self.entries = entries
    self.next = next
  }
}
