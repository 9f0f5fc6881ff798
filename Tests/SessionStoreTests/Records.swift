import PosternCrypto
import PosternSupport
import SessionRecords

/// Makes records for tests.
enum Records {
  static let farFuture = Timestamp(secondsSinceEpoch: 4_000_000_000)

  static func key(_ number: Int, _ collection: RecordKey.Collection = .session) -> RecordKey {
    RecordKey(collection: collection, id: HashFunction.sha256.hash(Array("record \(number)".utf8)))
  }

  static func record(
    _ number: Int, _ collection: RecordKey.Collection = .session, uid: UInt32 = 1000, version: UInt64 = 1,
    expiresAt: Timestamp? = farFuture, size: Int = 300
  ) -> StoredRecord {
    StoredRecord(
      key: key(number, collection), uid: uid, version: version, expiresAt: expiresAt,
      contents: Secret(contents(number, version: version, size: size)))
  }

  /// Contents that tell whose they are, of which version, and whether all of them are there.
  static func contents(_ number: Int, version: UInt64, size: Int = 300) -> [UInt8] {
    let text = Array("contents of \(number) version \(version) ".utf8)
    return (0..<size).map { text[$0 % text.count] }
  }
}
