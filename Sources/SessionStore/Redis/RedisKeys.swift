import PosternSupport
import SessionRecords

/// The names of the keys in the server. The part in braces keeps them in one slot of a cluster, where one script can
/// reach them all.
struct RedisKeys: Sendable {
  let prefix: String

  var store: [UInt8] { bytes("store") }
  var keyIDs: [UInt8] { bytes("keys") }

  func record(_ key: RecordKey) -> [UInt8] { records(key.collection) + identifier(key) }
  func lease(_ key: RecordKey) -> [UInt8] { bytes("lease:\(key.collection.rawValue):") + identifier(key) }
  func recordSet(of uid: UInt32, _ collection: RecordKey.Collection) -> [UInt8] {
    recordSets(collection) + Array(String(uid).utf8)
  }

  /// The prefix of the keys of records.
  func records(_ collection: RecordKey.Collection) -> [UInt8] { bytes("record:\(collection.rawValue):") }
  /// The prefix of the keys of the sets of records by uid.
  func recordSets(_ collection: RecordKey.Collection) -> [UInt8] { bytes("owner:\(collection.rawValue):") }
  /// A uid's records, in the order in which they were added.
  func order(_ uid: UInt32, _ collection: RecordKey.Collection) -> [UInt8] {
    orders(collection) + Array(String(uid).utf8)
  }
  /// The prefix of the keys of the orders of records by uid.
  func orders(_ collection: RecordKey.Collection) -> [UInt8] { bytes("order:\(collection.rawValue):") }
  /// The key of the number of bytes written for a uid, including removed ones.
  func written(_ uid: UInt32) -> [UInt8] { bytes("written:\(uid)") }
  /// The key of a value that has been used.
  func spent(_ identity: [UInt8]) -> [UInt8] { bytes("spent:") + Hexadecimal.encode(identity) }
  /// The key of the counter of added records.
  var sequence: [UInt8] { bytes("sequence") }
  /// All records, by expiry.
  func all(_ collection: RecordKey.Collection) -> [UInt8] { bytes("all:\(collection.rawValue)") }

  /// The identifier in hexadecimal.
  func identifier(_ key: RecordKey) -> [UInt8] { Hexadecimal.encode(key.id) }

  private func bytes(_ name: String) -> [UInt8] { Array("\(prefix):\(name)".utf8) }
}
