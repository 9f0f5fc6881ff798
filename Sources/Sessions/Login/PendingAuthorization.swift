import PosternCrypto
import PosternJSON
import SessionRecords

/// An authorization that waits for its callback; stored under the hash of its `state`, read once.
package struct PendingAuthorization: RecordContents {
  let issuer: String
  let issuerIdentifier: String
  let clientID: String
  let redirectURI: String
  let verifier: String
  let nonce: String
  package let scope: String
  let maxAge: Int?
  let acrValues: [String]
  /// `resource` (RFC 8707).
  var resource: String?
  /// The key that the code and the tokens are bound to (RFC 9449 section 10), with its private half.
  var dpopKey: JSONValue?
  /// Whether the issuer's callbacks always name it, by its metadata (RFC 9207 section 3). Nil in older records.
  var expectsIssuer: Bool?

  /// The session whose login it replaces; nil: it creates one.
  var stepUp: String?

  static func key(ofState state: String) -> RecordKey {
    RecordKey(collection: .authorization, id: HashFunction.sha256.hash(Array("state:\(state)".utf8)))
  }

  /// Whether `openid` was requested, so that there must be an ID token.
  var isOpenID: Bool { ScopeText.names("openid", in: scope) }
}
