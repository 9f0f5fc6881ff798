/// What identifies a record in a store.
public struct RecordKey: Sendable, Hashable {
  /// The kinds of records.
  public enum Collection: String, Sendable, Hashable, CaseIterable {
    /// Sessions.
    case session
    /// Authorizations under way: read once, gone after minutes.
    case authorization
    /// Users who have logged in before, for implicit access.
    case profile
    /// Credentials that the sidecar registered for itself: owned by nobody, kept for good.
    case registration
  }

  /// How many bytes an identifier has.
  public static let identifierByteCount = 32

  /// The kind of record.
  public let collection: Collection
  /// 32 bytes: the SHA-256 of an unguessable handle, which the store never sees, or of what a profile or a registration
  /// is for.
  public let id: [UInt8]

  /// The key of that collection and identifier. Stores refuse (`StoreError.Kind.invalid`) an identifier of another
  /// length.
  public init(collection: Collection, id: [UInt8]) {
    self.collection = collection
    self.id = id
  }

  /// The identifier is a hash itself: its first bytes tell records apart as well as all of them would.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(id.withUnsafeBytes { $0.count < 8 ? UInt64($0.count) : $0.loadUnaligned(as: UInt64.self) })
  }

  /// The beginning of the identifier in hexadecimal: tells records apart in messages and is of no use to find one.
  public var prefix: String {
    id.prefix(4).map { byte in
      let digits = String(byte, radix: 16)
      return byte < 16 ? "0" + digits : digits
    }.joined()
  }
}

extension RecordKey: CustomStringConvertible {
  /// The collection and the beginning of the identifier.
  public var description: String { "\(collection.rawValue) \(prefix)…" }
}
