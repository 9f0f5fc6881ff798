import Crypto
import JSON
import Support

/// What must be remembered of an authorization until its callback comes; stored under the hash of its `state`, read once.
struct PendingAuthorization: Sendable, Codable {
  let issuer: String
  let issuerIdentifier: String
  let clientID: String
  let redirectURI: String
  let verifier: String
  let nonce: String
  let scope: String
  let maxAge: Int?
  let acrValues: [String]
  /// `resource` (RFC 8707).
  var resource: String?
  /// The key that the code and the tokens are bound to (RFC 9449 section 10), with its private half.
  var dpopKey: JSONValue?

  static func key(ofState state: String) -> RecordKey {
    RecordKey(collection: .authorization, id: HashFunction.sha256.hash(Array("state:\(state)".utf8)))
  }

  /// Reads a record's contents; nil when they are not this.
  static func read(_ record: StoredRecord) -> PendingAuthorization? {
    guard
      let value = try? JSONParser(maxBytes: StoredRecord.maximumByteCount, maxDepth: 16).parse(record.contents.reveal())
    else { return nil }
    return try? JSONValueDecoder().decode(PendingAuthorization.self, from: value)
  }

  /// The contents as a record keeps them; nil would be a bug.
  var bytes: Secret<[UInt8]>? {
    (try? JSONValueEncoder().encode(self)).map { Secret(JSONWriter().write($0)) }
  }

  /// Whether `openid` was asked for, so that there must be an ID token.
  var isOpenID: Bool { scope.split(separator: " ").contains("openid") }
}
