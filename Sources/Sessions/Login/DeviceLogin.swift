import OAuthClient
import PosternCrypto
import PosternJSON
import PosternSupport
import SessionRecords

/// Logs users in on another device (RFC 8628).
struct DeviceLogin: SessionPart {
  /// RFC 8628 section 3.5: what `slow_down` adds.
  private static let slowDown = Duration.seconds(5)

  let shared: SessionDependencies
  let creation: SessionCreation

  /// Begins a device authorization (RFC 8628 section 3.1).
  func begin(
    at issuer: SessionIssuer, scope: String?, _ origin: LoginOrigin, in call: CallScope
  ) async throws(SessionError) -> BegunDeviceAuthorization {
    let scope = scope ?? issuer.scope
    let answer: DeviceAuthorization
    do throws(TokenError) {
      answer = try await requests.provider.deviceAuthorization(of: scope, at: issuer.issuer, in: call)
    } catch {
      throw SessionError(error)
    }
    let handle = SessionHandle.random()
    // Not longer than a logout at the issuer is remembered.
    let expiresAt = clock.wallNow + min(answer.life, LogoutMark.longestLogin)
    let pending = PendingDevice(
      issuer: issuer.issuer.name, issuerIdentifier: issuer.issuer.identifier, clientID: issuer.issuer.clientID,
      deviceCode: answer.deviceCode, scope: scope, interval: answer.interval.wholeMilliseconds,
      askAt: (clock.wallNow + answer.interval).millisecondsSinceEpoch, dpopKey: try issuer.newKey(),
      path: origin.path)
    try await write(
      pending, of: handle, version: 1, expiresAt: expiresAt, SessionRoom(issuer: issuer.issuer.name, origin), in: call)
    return BegunDeviceAuthorization(
      handle: handle, userCode: answer.userCode, verificationURI: answer.verificationURI,
      verificationURIComplete: answer.verificationURIComplete, expiresAt: expiresAt, interval: answer.interval)
  }

  /// Polls the token endpoint (RFC 8628 section 3.4); the session, when the user has agreed.
  func complete(
    _ handle: SessionHandle, _ origin: LoginOrigin,
    issuer: (String) throws(SessionError) -> SessionIssuer, in call: CallScope
  ) async throws(SessionError) -> Session {
    var (record, pending) = try await pending(handle, in: call)
    guard origin.covers(pending.path ?? []) else { throw .deviceAuthorizationUnknown }
    let issuer = try issuer(pending.issuer)
    guard issuer.issuer.identifier == pending.issuerIdentifier, issuer.issuer.clientID == pending.clientID else {
      throw SessionError(.issuerUnknown, "the issuer has been configured differently since the authorization began")
    }
    let wait = Timestamp(millisecondsSinceEpoch: pending.askAt) - clock.wallNow
    guard wait <= .zero else { throw Self.pending(min(wait, .milliseconds(pending.interval))) }
    // The time of the next poll is stored before this one is sent: one of several callers sends it.
    pending.askAt = (clock.wallNow + .milliseconds(pending.interval)).millisecondsSinceEpoch
    do throws(SessionError) {
      try await write(pending, of: handle, version: record.version + 1, expiresAt: record.expiresAt, in: call)
    } catch {
      if case .store(let fault) = error.kind, fault.kind == .conflict {
        throw Self.pending(.milliseconds(pending.interval))
      }
      throw error
    }
    do throws(SessionError) {
      let session = try await creation.create(
        NewSession(
          grant: .deviceCode(Secret(pending.deviceCode)), issuer: issuer, scope: pending.scope,
          origin: origin, key: pending.dpopKey, login: record.key, call: call))
      _ = try? await store.remove(record.key, by: call.uid)
      return session
    } catch {
      throw try await undecided(error, pending, handle, record, in: call)
    }
  }

  /// The configured name of the issuer of a device authorization.
  func issuerName(of handle: SessionHandle, in call: CallScope) async throws(SessionError) -> String {
    try await pending(handle, in: call).pending.issuer
  }

  private func pending(
    _ handle: SessionHandle, in call: CallScope
  ) async throws(SessionError) -> (record: StoredRecord, pending: PendingDevice) {
    guard let record = try await repository.pendingLogin(PendingDevice.key(of: handle), in: call) else {
      throw .deviceAuthorizationUnknown
    }
    guard let pending = PendingDevice.read(record) else {
      throw SessionError(StoreError(.corrupted, "\(record.key) is not a device authorization"))
    }
    return (record, pending)
  }

  private func undecided(
    _ error: SessionError, _ pending: PendingDevice, _ handle: SessionHandle, _ record: StoredRecord, in call: CallScope
  ) async throws(SessionError) -> SessionError {
    guard error.tokenError?.isAnswered ?? false else { return error }
    switch error.upstreamCode {
    case "authorization_pending": return Self.pending(.milliseconds(pending.interval))
    case "slow_down":
      var slower = pending
      slower.interval += Self.slowDown.wholeMilliseconds
      slower.askAt += Self.slowDown.wholeMilliseconds
      try await write(
        slower, of: handle, version: record.version + 2, expiresAt: record.expiresAt, in: call)
      return Self.pending(.milliseconds(slower.interval))
    case "access_denied", "expired_token":
      _ = try? await store.remove(record.key, by: call.uid)
      return SessionError(
        .authorizationFailed, "the device authorization ended without a session", upstreamCode: error.upstreamCode)
    default: return error
    }
  }

  private static func pending(_ wait: Duration) -> SessionError {
    SessionError(.pending(retryAfter: wait), "the user has not decided yet", upstreamCode: "authorization_pending")
  }

  private func write(
    _ pending: PendingDevice, of handle: SessionHandle, version: UInt64, expiresAt: Timestamp?,
    _ room: SessionRoom? = nil, in call: CallScope
  ) async throws(SessionError) {
    guard let contents = pending.bytes else { throw SessionError(.stateUnknown, "the authorization cannot be kept") }
    let record = StoredRecord(
      key: PendingDevice.key(of: handle), uid: call.uid, version: version, expiresAt: expiresAt, contents: contents)
    if let room { return try await repository.insert(login: record, room, in: call) }
    try await inStore { () async throws(StoreError) in try await store.replace(record, under: nil) }
  }
}

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
  /// See `LoginOrigin.path`.
  var path: [String]?

  static func key(of handle: SessionHandle) -> RecordKey {
    RecordKey(collection: .authorization, id: HashFunction.sha256.hash(Array("device:\(handle.text)".utf8)))
  }
}
