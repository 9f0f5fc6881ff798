package import OAuthClient
import PosternJSON
import PosternSupport
package import SessionRecords

/// The contents of a session's record, encrypted in the store: everything that cannot be requested again without the
/// user.
package struct SessionContents: Sendable, Codable {
  /// The issuer's grant.
  struct Grant: Sendable, Codable {
    @OptionalKeptSecret var refreshToken: String?
    var scope: String?
    /// The resource that the user consented to (RFC 8707): the audience of the session's own token.
    var resource: String?
    /// The key that the session's tokens are bound to (RFC 9449), with its private half; made when it is first needed,
    /// never changed.
    var dpopKey: JSONValue?
    /// Whether the issuer has ended the grant: the user has to log in again.
    var isRejected = false
    /// The terms of an implicit session when it was created.
    var implicit: ImplicitAccess.Terms?

    private enum CodingKeys: String, CodingKey {
      case refreshToken, scope, resource, dpopKey, implicit
      case isRejected = "isRefused"
    }
  }

  /// The user, as far as an ID token has named one.
  struct User: Sendable, Codable {
    var subject: String?
    /// The login at the issuer (`sid`): a later ID token without it changes nothing.
    var sid: String?
    @OptionalKeptSecret var idToken: String?
    var claims: JSONValue?

    /// Takes in a valid ID token.
    mutating func take(_ idToken: String, _ claims: JSONObject) {
      self.idToken = idToken
      self.claims = .object(claims)
      subject = claims["sub"]?.stringValue ?? subject
      sid = claims["sid"]?.stringValue ?? sid
    }

    /// The login at the issuer, also in a record of a version that kept the claims alone.
    var loginID: String? { sid ?? claims?["sid"]?.stringValue }

    /// Whether claims are about the session's user; one who is not known takes any.
    func isSubject(of claims: JSONObject) -> Bool {
      subject.map { claims["sub"]?.stringValue?.hasSameBytes(as: $0) == true } ?? true
    }
  }

  /// The login at the access manager.
  package struct SignOn: Sendable, Codable {
    @OptionalKeptSecret package var token: String?
    /// The token whose user is not proven yet: after a step-up that could not be exchanged.
    @OptionalKeptSecret var unprovenToken: String?

    private enum CodingKeys: String, CodingKey {
      case token = "ssoToken"
      case unprovenToken = "unprovenSSOToken"
    }

    /// Whether the token may be another user's.
    package var isUnproven: Bool { token != nil && unprovenToken == token }
  }

  /// Times in milliseconds since the epoch.
  struct Life: Sendable, Codable {
    let createdAt: Int64
    var expiresAt: Int64?
  }

  static let currentFormat = 1

  var format = Self.currentFormat
  /// The handle, so that its user can list it; records are encrypted, and stored under its hash.
  var handle: String
  @Flattened var issuer: IssuerReference
  var kind: SessionKind
  @Flattened var life: Life
  @Flattened var grant = Grant()
  @Flattened var user = User()
  @Flattened package var signOn = SignOn()
  var tokens: [StoredToken] = []
  /// Whether this is a reservation, while the session's first token is requested. Nil in older records.
  private var reserved: Bool?
  /// Whether a later login in the same browser has replaced it. Nil in older records.
  private var replaced: Bool?
  /// The levels that its login came through (`LoginOrigin.path`). Nil in older records.
  var path: [String]?

  /// Reads a record's contents; nil when they are not this.
  init?(_ record: StoredRecord) {
    guard
      let value = try? JSONParser(maxBytes: StoredRecord.maximumByteCount, maxDepth: 64).tree(
        of: record.contents.reveal()),
      let contents = try? JSONValueDecoder().decode(SessionContents.self, from: value),
      contents.format == Self.currentFormat
    else { return nil }
    self = contents
  }

  init(_ handle: SessionHandle, at issuer: SessionIssuer, kind: SessionKind, createdAt: Timestamp) {
    self.handle = handle.text
    self.issuer = IssuerReference(issuer.issuer)
    self.kind = kind
    life = Life(createdAt: createdAt.millisecondsSinceEpoch)
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
  var isRefreshable: Bool { !grant.isRejected && (grant.refreshToken != nil || hasOtherGrant) }

  /// Whether there is no session yet.
  var isReserved: Bool {
    get { reserved == true }
    set { reserved = newValue ? true : nil }
  }

  /// Whether a later login in the same browser has replaced the session: it ends at `life.expiresAt`, whatever its
  /// tokens do, and no step-up gives it others.
  var isReplaced: Bool {
    get { replaced == true }
    set { replaced = newValue ? true : nil }
  }

  /// Whether the session's own end has come.
  func hasExpired(at now: Timestamp) -> Bool { life.expiresAt.map { $0 <= now.millisecondsSinceEpoch } ?? false }

  /// Whether the session is one of the login `sid`, and of `subject` where both are given, or one of `subject`.
  package func belongs(to subject: String?, sid: String?, at issuer: Issuer) -> Bool {
    guard self.issuer.name == issuer.name, self.issuer.isIdentical(to: issuer), subject != nil || sid != nil else {
      return false
    }
    return (subject.map { user.subject?.hasSameBytes(as: $0) ?? false } ?? true)
      && (sid.map { user.loginID?.hasSameBytes(as: $0) ?? false } ?? true)
  }

  /// The mark that forbids the session; nil where its login at the issuer is not known.
  var logoutMark: LogoutMark? {
    user.loginID.map { LogoutMark(sid: $0, issuer: issuer.identifier, clientID: issuer.clientID) }
  }

  /// Takes the token in, in place of the one in its slot.
  mutating func keep(_ token: StoredToken, atMost limit: Int = 32) {
    tokens.removeAll { $0.slot == token.slot }
    tokens.append(token)
    if tokens.count > limit { tokens.removeFirst() }
  }

  /// The session as a caller may see it.
  func session(_ handle: SessionHandle) -> Session {
    let claims = user.claims?.objectValue
    let authTime: Timestamp? = claims?["auth_time"].flatMap { $0.integerValue }.map { Timestamp(secondsSinceEpoch: $0) }
    return Session(
      handle: handle, issuer: issuer.name, subject: user.subject, kind: kind, scope: grant.scope,
      createdAt: Timestamp(millisecondsSinceEpoch: life.createdAt),
      expiresAt: life.expiresAt.map { Timestamp(millisecondsSinceEpoch: $0) },
      accessTokenExpiresAt: tokens.first { $0.slot == .session }?.expiresAt, claims: claims,
      acr: claims?["acr"]?.stringValue, authenticatedAt: authTime, isReplaced: isReplaced)
  }
}
