import PosternCrypto
import PosternJSON
import SessionRecords

/// A device authorization that waits for its user; stored under the hash of its handle.
struct PendingDevice: RecordContents {
  let issuer: String
  let issuerIdentifier: String
  let clientID: String
  let deviceCode: String
  let scope: String?
  /// In milliseconds; grows with each `slow_down` of the issuer.
  var interval: Int64
  /// When the issuer may be polled next, in milliseconds since the epoch.
  var askAt: Int64
  /// The key that the tokens will be bound to (RFC 9449), with its private half.
  var dpopKey: JSONValue?

  static func key(of handle: SessionHandle) -> RecordKey {
    RecordKey(collection: .authorization, id: HashFunction.sha256.hash(Array("device:\(handle.text)".utf8)))
  }
}
