import JOSE
import OAuthClient
import PosternJSON
import PosternSupport
import SessionRecords
import TokenValidation

/// One refresh of one of a session's tokens: a pure state machine, which gets events and returns the next action.
/// `TokenRefresher` carries the actions out.
///
/// The order keeps a refresh token that rotates: no refresh token is sent that another process may have sent already,
/// since that happens under the record's lease only, and the answer is in the store before its access token is used.
/// The lease is kept until then, also while an ID token is validated: another process that got it in between would find
/// the rotated refresh token next to the old access token, and refresh once more.
struct RefreshState: Sendable {
  enum Action: Sendable {
    /// Read the session's record.
    case read
    /// Find the token endpoint: discovery may take long, and comes before the lease.
    case locateEndpoint
    case lease(for: Duration)
    case wait(Duration)
    /// Write as the outcome of a refresh that began with the record.
    case save(SessionContents, over: SessionRecord)
    /// Give the session a DPoP key where its issuer binds tokens and it has none.
    case addKey(LiveSession)
    /// Send the token request.
    case request(LiveSession)
    case validate(idToken: String, RefreshedToken, of: LiveSession)
    case finish(Result<LiveSession, SessionError>)
  }

  enum Event: Sendable {
    case began
    case read(LiveSession?, unsaved: SessionContents? = nil)
    case located
    case leased(RecordLease?)
    case waited
    case saved(LiveSession)
    case keyAdded(LiveSession)
    case answered(RefreshedToken)
    case rejected(SessionError)
    /// nil: there are no keys to validate the ID token with.
    case validated(TokenVerdict?)
    /// The action failed.
    case failed(SessionError)
  }

  /// Something to report or do before the next action.
  enum Effect: Sendable {
    case setBackoff(TokenBackoff?)
    case announce(LiveSession)
    case announceEnd(LiveSession)
    case reportIDToken(TokenFault)
    case revokeOrphaned(TokenRequests.Answer, of: UInt32)
    /// The session has a new ID token, by which its user's profile is registered.
    case register(SessionContents, of: UInt32)
  }

  /// The token endpoint's answer, until it is saved.
  private struct Received: Sendable {
    let token: RefreshedToken
    /// The contents to save.
    var contents: SessionContents
    /// The session that is in the store.
    var stored: LiveSession
    var verdict: TokenVerdict?
  }

  private enum Phase: Sendable {
    case looking
    case locating
    case leasing
    case waiting
    case checking
    case savingUnsaved
    case addingKey
    case requesting
    case savingRotation
    case validating
    case comparing
    case saving
    case ending(SessionError, whateverIsStored: Bool)
  }

  /// How long a lease lasts: longer than a token request can take.
  static let leaseDuration = ProviderClient.timeout + .seconds(10)
  /// How long it lasts where the refresh may go through the access manager: refresh token, cookie name, authorization,
  /// code.
  static let longLeaseDuration = ProviderClient.timeout * 4 + .seconds(10)
  /// How long to wait between attempts to get the lease from another process.
  static let leasePause = Duration.milliseconds(50)

  private let need: TokenNeed
  private let slot: TokenSlot
  private let backoff: TokenBackoff?
  /// Whether a new ID token is needed for the profile of its user.
  private let registersProfiles: Bool
  private var phase = Phase.looking
  /// The session as it was read last.
  private var live: LiveSession?
  private var received: Received?
  private var leaseDuration = Self.leaseDuration
  /// When the lease ends; before there is one, until when it is waited for.
  private var leaseEnd = MonotonicInstant(nanoseconds: 0)
  private(set) var lease: RecordLease?
  private var effects: [Effect] = []

  /// A refresh of the token in `slot` for `need`; `backoff` is what the last failure left.
  init(_ need: TokenNeed, of slot: TokenSlot, backoff: TokenBackoff?, registersProfiles: Bool) {
    self.need = need
    self.slot = slot
    self.backoff = backoff
    self.registersProfiles = registersProfiles
  }

  /// The effects of the latest event.
  mutating func takeEffects() -> [Effect] {
    defer { effects = [] }
    return effects
  }

  mutating func next(_ event: Event, at now: MonotonicInstant, wallNow: Timestamp) -> Action {
    switch (phase, event) {
    case (_, .failed(let error)): return failed(error)
    case (.looking, .began), (.waiting, .waited): return .read
    case (.looking, .read(let live, _)): return look(live, now)
    case (.locating, .located): return askForLease(now)
    case (.leasing, .leased(let lease)): return leased(lease, now)
    case (.waiting, .read(let live, _)): return waited(live, now)
    case (.checking, .read(let live, let unsaved)): return check(live, unsaved, now)
    case (.savingUnsaved, .saved(let live)): return proceed(live, now)
    case (.addingKey, .keyAdded(let live)):
      self.live = live
      phase = .requesting
      return .request(live)
    case (.requesting, .answered(let token)): return answered(token)
    case (.requesting, .rejected(let error)): return rejected(error, now, wallNow)
    case (.savingRotation, .saved(let stored)): return rotationSaved(stored)
    case (.validating, .validated(let verdict)): return validated(verdict, now)
    case (.comparing, .read(let current, _)): return compare(current, wallNow)
    case (.saving, .saved(let live)): return saved(live)
    case (.ending(let error, let whatever), .saved(let live)): return ended(live, error, whatever)
    default: return .finish(.failure(SessionError(StoreError(.invalid, "a refresh got an event out of order"))))
    }
  }

  // MARK: Before the lease

  private mutating func look(_ live: LiveSession?, _ now: MonotonicInstant) -> Action {
    guard let live else { return .finish(.failure(.notFound)) }
    self.live = live
    guard !isMet(by: live, now) else { return .finish(.success(live)) }
    guard live.contents.isRefreshable else { return Self.expired }
    if let error = backoff?.error(at: now) { return .finish(.failure(SessionError(error))) }
    phase = .locating
    return .locateEndpoint
  }

  private mutating func askForLease(_ now: MonotonicInstant) -> Action {
    leaseDuration = live?.contents.hasOtherGrant == true ? Self.longLeaseDuration : Self.leaseDuration
    leaseEnd = now + leaseDuration
    phase = .leasing
    return .lease(for: leaseDuration)
  }

  private mutating func leased(_ lease: RecordLease?, _ now: MonotonicInstant) -> Action {
    self.lease = lease
    guard lease == nil else {
      leaseEnd = now + leaseDuration
      phase = received == nil ? .checking : .comparing
      return .read
    }
    guard now < leaseEnd else {
      return failed(SessionError(StoreError(.unavailable, "another process holds the session's lease for too long")))
    }
    phase = .waiting
    return .wait(Self.leasePause)
  }

  /// Another process has had the lease for a while.
  private mutating func waited(_ live: LiveSession?, _ now: MonotonicInstant) -> Action {
    guard let live else { return failed(.notFound) }
    if received == nil, isMet(by: live, now) { return .finish(.success(live)) }
    guard live.contents.isRefreshable else { return Self.expired }
    phase = .leasing
    return .lease(for: leaseDuration)
  }

  // MARK: Under the lease

  private mutating func check(_ live: LiveSession?, _ unsaved: SessionContents?, _ now: MonotonicInstant) -> Action {
    guard let live else { return .finish(.failure(.notFound)) }
    guard let unsaved else { return proceed(live, now) }
    phase = .savingUnsaved
    return .save(unsaved, over: live.record)
  }

  private mutating func proceed(_ live: LiveSession, _ now: MonotonicInstant) -> Action {
    guard !isMet(by: live, now) else { return .finish(.success(live)) }
    guard live.contents.isRefreshable else { return Self.expired }
    phase = .addingKey
    return .addKey(live)
  }

  private mutating func rejected(_ error: SessionError, _ now: MonotonicInstant, _ wallNow: Timestamp) -> Action {
    if let failure = error.tokenError {
      effects.append(.setBackoff(TokenBackoff(afterRefresh: failure, previous: backoff, now: now)))
    }
    guard error.isFinal, let live else { return .finish(.failure(error)) }
    return end(live.contents, over: live, because: error, whateverIsStored: false, wallNow)
  }

  private mutating func answered(_ token: RefreshedToken) -> Action {
    effects.append(.setBackoff(nil))
    guard let live else { return .finish(.failure(.notFound)) }
    var contents = live.contents
    // An implicit session has no user whom an ID token could speak of.
    guard let idToken = token.answer.response.idToken, contents.kind == .user else {
      contents.take(token)
      received = Received(token: token, contents: contents, stored: live)
      phase = .saving
      return .save(contents, over: live.record)
    }
    // A refresh token that rotates is the only one from now on: it is saved first. The access token is not used until
    // it is clear whose it is.
    guard let refreshToken = token.answer.response.refreshToken else {
      received = Received(token: token, contents: contents, stored: live)
      phase = .validating
      return .validate(idToken: idToken, token, of: live)
    }
    contents.grant.refreshToken = refreshToken
    received = Received(token: token, contents: contents, stored: live)
    phase = .savingRotation
    return .save(contents, over: live.record)
  }

  private mutating func rotationSaved(_ stored: LiveSession) -> Action {
    guard let live, let received, let idToken = received.token.answer.response.idToken else {
      return .finish(.success(stored))
    }
    // Another write took precedence, with tokens of its own.
    guard stored.contents.grant.refreshToken == received.contents.grant.refreshToken else {
      return .finish(.success(stored))
    }
    self.received?.stored = stored
    phase = .validating
    return .validate(idToken: idToken, received.token, of: live)
  }

  private mutating func validated(_ verdict: TokenVerdict?, _ now: MonotonicInstant) -> Action {
    received?.verdict = verdict
    if received?.token.expectations != nil {
      do throws(SessionError) {
        try IDTokenVerification.require(verdict)
      } catch {
        return .finish(.failure(error))
      }
    }
    // To fetch keys may have taken longer than the lease lasts.
    guard now < leaseEnd else { return askForLease(now) }
    phase = .comparing
    return .read
  }

  private mutating func compare(_ current: LiveSession?, _ wallNow: Timestamp) -> Action {
    guard let current else { return failed(.notFound) }
    // Another process has refreshed it since, with the refresh token of this refresh, or removed its tokens.
    guard let received, current.version == received.stored.version else { return .finish(.success(current)) }
    let verdict = received.verdict
    if let fault = verdict?.fault { effects.append(.reportIDToken(fault)) }
    let idToken = received.token.answer.response.idToken ?? ""
    var contents = received.contents
    if let fault = Self.otherUser(verdict, idToken, after: contents) {
      effects.append(.revokeOrphaned(received.token.answer, of: current.uid))
      let error = SessionError(
        .expired, "the issuer refreshed the session with another user's tokens", upstreamCode: fault.code.rawValue)
      return end(contents, over: received.stored, because: error, whateverIsStored: true, wallNow)
    }
    // Without keys to validate it with, or when it is not valid, the claims stay as they are.
    if case .valid(let claims, _, _, _)? = verdict {
      contents.user.take(idToken, claims)
      // A login that was kept before it could be exchanged is the same user's, by its ID token.
      if received.token.expectations != nil { contents.signOn.unprovenToken = nil }
    }
    contents.take(received.token)
    self.received?.contents = contents
    phase = .saving
    return .save(contents, over: received.stored.record)
  }

  private mutating func saved(_ live: LiveSession) -> Action {
    effects.append(.announce(live))
    if registersProfiles, let received, received.token.answer.response.idToken != nil, live.contents.kind == .user {
      effects.append(.register(received.contents, of: live.uid))
    }
    return .finish(.success(live))
  }

  // MARK: The end

  /// Ends the session: the user has to log in again. Access tokens that have not expired are removed, too: the issuer
  /// has ended the grant they were issued for.
  private mutating func end(
    _ contents: SessionContents, over stored: LiveSession, because error: SessionError, whateverIsStored: Bool,
    _ wallNow: Timestamp
  ) -> Action {
    var contents = contents
    contents.grant.isRejected = true
    contents.grant.refreshToken = nil
    contents.tokens = []
    contents.life.expiresAt = wallNow.millisecondsSinceEpoch
    live = stored
    phase = .ending(error, whateverIsStored: whateverIsStored)
    return .save(contents, over: stored.record)
  }

  /// Where another process has refreshed the session meanwhile, it goes on with that.
  private mutating func ended(_ live: LiveSession, _ error: SessionError, _ whateverIsStored: Bool) -> Action {
    if live.contents.grant.isRejected { effects.append(.announceEnd(live)) }
    return .finish(live.contents.grant.isRejected || whateverIsStored ? .failure(error) : .success(live))
  }

  private mutating func failed(_ error: SessionError) -> Action {
    // The store has not taken the end, and will: in this process the session is over now.
    if case .ending = phase, let live, case .store(let fault) = error.kind, fault.kind == .unavailable {
      effects.append(.announceEnd(live))
    }
    // The session was ended during its refresh: the new tokens must not stay valid at the issuer.
    if case .notFound = error.kind, let received {
      effects.append(.revokeOrphaned(received.token.answer, of: received.stored.uid))
    }
    return .finish(.failure(error))
  }

  private func isMet(by live: LiveSession, _ now: MonotonicInstant) -> Bool {
    live.tokens[slot].map { need.isMet(by: $0, at: now) } ?? false
  }

  private static var expired: Action { .finish(.failure(SessionError(.expired, "the user has to log in again"))) }

  /// Why the tokens are another user's; nil when there is no sign of that. An ID token counts here although it cannot
  /// be verified: tokens that come with another user's name are not used for this one, genuine or not.
  private static func otherUser(
    _ verdict: TokenVerdict?, _ idToken: String, after contents: SessionContents
  ) -> TokenFault? {
    if let fault = verdict?.fault, fault.code == .refreshMismatch, fault.claim == "sub" || fault.claim == "iss" {
      return fault
    }
    guard let subject = contents.user.subject,
      let reported = (try? CompactJWS(idToken).unverifiedClaims())?["sub"]?.stringValue,
      !reported.hasSameBytes(as: subject)
    else { return nil }
    return TokenFault(.refreshMismatch, "sub does not continue the session's", claim: "sub")
  }
}
