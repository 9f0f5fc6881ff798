/// How much of a store one owner takes; expired records that have not been purged may be included.
public struct RecordUsage: Sendable, Equatable {
  /// How many records there are of each kind.
  public private(set) var counts: [RecordKey.Collection: Int] = [:]
  /// How many bytes their contents have together.
  public private(set) var bytes = 0

  /// The usage of nobody.
  public init() {}

  /// How many records of a kind there are.
  public func count(in collection: RecordKey.Collection) -> Int { counts[collection, default: 0] }

  /// `count` records more, or fewer, with `bytes` together.
  public mutating func add(_ count: Int, in collection: RecordKey.Collection, bytes: Int) {
    counts[collection, default: 0] += count
    self.bytes += bytes
  }
}
