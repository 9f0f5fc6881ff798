public import PosternSupport

/// The share of a store that one uid uses; expired records that have not been purged may be included.
public struct RecordUsage: Sendable, Equatable {
  /// The number of records of each kind.
  public private(set) var counts: [RecordKey.Collection: Int] = [:]
  /// The size of the contents of each kind in bytes.
  private var sizes: [RecordKey.Collection: Int] = [:]
  /// The size of all contents in bytes.
  public private(set) var bytes = 0

  /// No usage.
  public init() {}

  /// Returns the number of records of a kind.
  public func count(in collection: RecordKey.Collection) -> Int { counts[collection, default: 0] }

  /// Returns the size of the contents of a kind in bytes.
  public func bytes(in collection: RecordKey.Collection) -> Int { sizes[collection, default: 0] }

  /// `count` records more, or fewer, with `bytes` together.
  public mutating func add(_ count: Int, in collection: RecordKey.Collection, bytes: Int) {
    counts[collection, default: 0] += count
    sizes[collection, default: 0] += bytes
    self.bytes += bytes
  }
}

extension RecordUsage: ConciseStringConvertible {
  /// Count and bytes.
  public var description: String {
    "\(Concise.count(counts.values.reduce(0, +), "record")), \(Concise.count(bytes, "byte"))"
  }
}
