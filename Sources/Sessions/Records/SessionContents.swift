import OAuthClient
import PosternJSON
import PosternSupport
import SessionRecords

/// The contents of a session's record, encrypted in the store: everything that cannot be requested again without the
/// user.
package struct SessionContents: Sendable, Codable {
  static let currentFormat = 1

  var format = Self.currentFormat
  /// The handle, so that its uid can list it; records are encrypted, and stored under its hash.
  var handle: String
  /// The issuer's name in the configuration.
  var issuer: String
  /// The issuer's identifier: a session belongs to it, whatever the name means later.
  var issuerIdentifier: String
  var clientID: String
  var kind: SessionKind
  var subject: String?
  var scope: String?
  /// Milliseconds since the epoch.
  var createdAt: Int64
  /// Milliseconds since the epoch.
  var expiresAt: Int64?
  @OptionalKeptSecret var refreshToken: String?
  @OptionalKeptSecret package var ssoToken: String?
  /// The single sign-on token whose user is not proven yet: after a step-up that could not be exchanged.
  @OptionalKeptSecret var unprovenSSOToken: String?
  @OptionalKeptSecret var idToken: String?
  var claims: JSONValue?
  var tokens: [StoredToken] = []
  /// The key that the session's tokens are bound to (RFC 9449), with its private half; made when it is first needed,
  /// never changed.
  var dpopKey: JSONValue?
  /// The resource that the user consented to (RFC 8707): the audience of the session's own token.
  var resource: String?
  /// Whether the issuer has ended the grant: the user has to log in again.
  var isRejected = false
  /// The terms of an implicit session when it was created.
  var implicit: ImplicitAccess.Terms?
  /// Whether this is a reservation, while the session's first token is requested. Nil in older records.
  private var reserved: Bool?

  private enum CodingKeys: String, CodingKey {
    case format, handle, issuer, issuerIdentifier, clientID, kind, subject, scope, createdAt, expiresAt
    case refreshToken, ssoToken, unprovenSSOToken, idToken, claims, tokens, dpopKey, resource, implicit, reserved
    case isRejected = "isRefused"
  }

  /// Reads a record's contents; nil when they are not this.
  init?(_ record: StoredRecord) {
    guard
      let value = try? JSONParser(maxBytes: StoredRecord.maximumByteCount, maxDepth: 64).parse(
        record.contents.reveal()),
      let contents = try? JSONValueDecoder().decode(SessionContents.self, from: value),
      contents.format == Self.currentFormat
    else { return nil }
    self = contents
  }

  init(_ handle: SessionHandle, at issuer: SessionIssuer, kind: SessionKind, createdAt: Timestamp) {
    self.handle = handle.text
    self.issuer = issuer.issuer.name
    issuerIdentifier = issuer.issuer.identifier
    clientID = issuer.issuer.clientID
    self.kind = kind
    self.createdAt = createdAt.millisecondsSinceEpoch
  }

  /// The contents as a record keeps them. Strings and numbers only, so that a failure would be a bug: `invalid`,
  /// nothing is written.
  func storable() throws(SessionError) -> Secret<[UInt8]> {
    do {
      var text = JSONWriter().write(try JSONValueEncoder().encode(self))
      return Secret(moving: &text)
    } catch {
      throw SessionError(StoreError(.invalid, "a session cannot be written down"))
    }
  }

  /// Whether the issuer may give more tokens without the user.
  var isRefreshable: Bool { !isRejected && (refreshToken != nil || hasOtherGrant) }

  /// Whether there is no session yet.
  var isReserved: Bool {
    get { reserved == true }
    set { reserved = newValue ? true : nil }
  }

  /// Takes the token in, in place of the one in its slot.
  mutating func keep(_ token: StoredToken, atMost limit: Int = 32) {
    tokens.removeAll { $0.slot == token.slot }
    tokens.append(token)
    if tokens.count > limit { tokens.removeFirst() }
  }

  /// The session as a caller may see it.
  func session(_ handle: SessionHandle) -> Session {
    let claims = claims?.objectValue
    let authTime: Timestamp? = claims?["auth_time"].flatMap { $0.integerValue }.map { Timestamp(secondsSinceEpoch: $0) }
    return Session(
      handle: handle, issuer: issuer, subject: subject, kind: kind, scope: scope,
      createdAt: Timestamp(millisecondsSinceEpoch: createdAt),
      expiresAt: expiresAt.map { Timestamp(millisecondsSinceEpoch: $0) },
      accessTokenExpiresAt: tokens.first { $0.slot == .session }?.expiresAt, claims: claims,
      acr: claims?["acr"]?.stringValue, authenticatedAt: authTime)
  }
}

extension SessionContents {
  /// Whether the single sign-on token may be another user's.
  package var isSSOUnproven: Bool { ssoToken != nil && unprovenSSOToken == ssoToken }
}
