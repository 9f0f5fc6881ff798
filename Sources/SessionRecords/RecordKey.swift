public import PosternSupport

/// The identity of a record in a store.
public struct RecordKey: Sendable, Hashable {
  /// The kinds of records.
  public enum Collection: String, Sendable, Hashable, CaseIterable {
    /// Sessions.
    case session
    /// Pending authorizations: read once, expired after minutes.
    case authorization
    /// Users who have logged in before, for implicit access.
    case profile
    /// Credentials that the sidecar registered for itself: without a uid, kept for good.
    case registration
  }

  /// The size of an identifier in bytes.
  public static let identifierByteCount = 32

  /// The kind of record.
  public let collection: Collection
  /// 32 bytes: the SHA-256 of an unguessable handle, which the store never sees, or of the identity of a profile or a
  /// registration.
  public let id: [UInt8]

  /// The key of that collection and identifier. Stores reject (`StoreError.Kind.invalid`) an identifier of another
  /// length.
  public init(collection: Collection, id: [UInt8]) {
    self.collection = collection
    self.id = id
  }

  /// The identifier is a hash itself: its first bytes distinguish records as well as all of them would.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(id.withUnsafeBytes { $0.count < 8 ? UInt64($0.count) : $0.loadUnaligned(as: UInt64.self) })
  }

  /// The first digits of the identifier in hexadecimal, for messages; not enough to find the record.
  public var prefix: String { Hexadecimal.string(id.prefix(4)) }
}

extension RecordKey: ConciseStringConvertible {
  /// The collection and the beginning of the identifier.
  public var description: String { "\(collection.rawValue) \(prefix)…" }
}
