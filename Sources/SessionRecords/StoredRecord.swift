public import PosternSupport

/// A record. A store does not read `contents`.
public struct StoredRecord: Sendable, Equatable {
  /// Its identity.
  public var key: RecordKey
  /// The user id of the peer that created it.
  public var uid: UInt32
  /// 1 at insertion, one more with each write.
  public var version: UInt64
  /// The expiry, after which a store may purge the record; nil for never.
  public var expiresAt: Timestamp?
  /// The contents: at most `maximumByteCount` bytes.
  public var contents: Secret<[UInt8]>

  /// The maximum size of `contents` in bytes; stores reject (`StoreError.Kind.invalid`) more.
  public static let maximumByteCount = 1 << 20

  /// A record of the given parts.
  public init(key: RecordKey, uid: UInt32, version: UInt64, expiresAt: Timestamp?, contents: Secret<[UInt8]>) {
    self.key = key
    self.uid = uid
    self.version = version
    self.expiresAt = expiresAt
    self.contents = contents
  }

  /// Throws `invalid` when no store can store this record.
  public func checkStorable() throws(StoreError) {
    guard key.id.count == RecordKey.identifierByteCount else {
      throw StoreError(.invalid, "an identifier of \(key.id.count) bytes; it has \(RecordKey.identifierByteCount)")
    }
    guard version > 0, Int64(exactly: version) != nil else { throw StoreError(.invalid, "a version out of range") }
    let size = contents.byteCount
    guard size <= Self.maximumByteCount else {
      throw StoreError(.invalid, "a record of \(size) bytes; at most \(Self.maximumByteCount) are stored")
    }
  }
}

extension StoredRecord: ConciseStringConvertible {
  /// Key, version and size: never contents.
  public var description: String {
    Concise.text("\(key)", "version \(version)", "uid \(uid)", expiresAt.map { "expires \($0)" })
  }
}
