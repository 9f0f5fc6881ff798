import AuthEngine
import EngineTestSupport
import HTTPMessages
import PosternSupport
import PosternTestSupport
import Testing

@testable import OAuthClient
@testable import SessionRecords
@testable import Sessions

/// The decisions of a refresh, without a store and without an issuer.
@Suite struct RefreshStateTests {
  /// A machine, its times, and the session that it refreshes.
  private struct Machine {
    var state: RefreshState
    var now: MonotonicInstant
    let clock = ManualClockTimes()
    let live: LiveSession
    let lease: RecordLease

    init(backoff: TokenBackoff? = nil, refreshToken: String? = "r-1") throws {
      let bench = try SessionBench()
      let handle = SessionHandle.random()
      var contents = SessionContents(handle, at: bench.issuer, kind: .user, createdAt: bench.clock.wallNow)
      contents.grant.refreshToken = refreshToken
      let record = SessionRecord(handle: handle, uid: 1, version: 1, contents: contents)
      now = bench.clock.monotonicNow
      live = LiveSession(record: record, tokens: [:], key: nil, readAt: now)
      lease = RecordLease(key: handle.key, fence: 1, token: [1])
      state = RefreshState(TokenNeed(), of: .session, backoff: backoff, registersProfiles: false)
    }

    mutating func next(_ event: RefreshState.Event) -> RefreshState.Action {
      state.next(event, at: now, wallNow: clock.wallNow)
    }

    /// As far as the token request.
    mutating func request() {
      for event in [
        RefreshState.Event.began, .read(live), .located, .leased(lease), .read(live), .keyAdded(live),
      ] { _ = next(event) }
    }

    func saved(_ version: UInt64, _ change: (inout SessionContents) -> Void = { _ in }) -> LiveSession {
      var contents = live.contents
      change(&contents)
      let record = SessionRecord(handle: live.handle, uid: 1, version: version, contents: contents)
      return LiveSession(record: record, tokens: [:], key: nil, readAt: now)
    }
  }

  private struct ManualClockTimes { let wallNow = Timestamp(secondsSinceEpoch: 1_000_000) }

  private func token(idToken: String? = nil, refreshToken: String? = "r-2") throws -> RefreshedToken {
    let id = idToken.map { #","id_token":"\#($0)""# } ?? ""
    let refresh = refreshToken.map { #","refresh_token":"\#($0)""# } ?? ""
    let response = try TokenResponse(
      .json(#"{"access_token":"a-2","token_type":"Bearer","expires_in":300\#(refresh)\#(id)}"#))
    let answer = TokenRequests.Answer(
      response: response, sent: MonotonicInstant(nanoseconds: 0), sentAt: ManualClockTimes().wallNow, binding: .none)
    return RefreshedToken(answer: answer, slot: .session)
  }

  private func error(_ action: RefreshState.Action) -> SessionError? {
    guard case .finish(.failure(let error)) = action else { return nil }
    return error
  }

  @Test("a refresh token is sent before the lease, or without another look at the record under it")
  func order() throws {
    var machine = try Machine()
    guard case .read = machine.next(.began), case .locateEndpoint = machine.next(.read(machine.live)),
      case .lease = machine.next(.located), case .read = machine.next(.leased(machine.lease)),
      case .addKey = machine.next(.read(machine.live)), case .request = machine.next(.keyAdded(machine.live))
    else {
      Issue.record("another order")
      return
    }
  }

  @Test("an answer without an ID token is not written at once, with its refresh token")
  func saved() throws {
    var machine = try Machine()
    machine.request()
    guard case .save(let contents, let base) = machine.next(.answered(try token())) else {
      Issue.record("not saved")
      return
    }
    #expect(contents.grant.refreshToken == "r-2" && contents.tokens.count == 1 && base.version == 1)
    guard case .finish(.success) = machine.next(.saved(machine.saved(2))) else {
      Issue.record("not finished")
      return
    }
  }

  @Test("the lease is left to another process between a rotated refresh token and its access token")
  func leaseKept() throws {
    var machine = try Machine()
    machine.request()
    guard case .save(let contents, _) = machine.next(.answered(try token(idToken: "x"))) else {
      Issue.record("not saved")
      return
    }
    #expect(contents.grant.refreshToken == "r-2" && contents.tokens.isEmpty, "the access token waits for its ID token")
    let stored = machine.saved(2) { $0.grant.refreshToken = "r-2" }
    guard case .validate = machine.next(.saved(stored)) else {
      Issue.record("not validated")
      return
    }
    #expect(machine.state.lease == machine.lease)
    guard case .read = machine.next(.validated(nil)), case .save(let last, _) = machine.next(.read(stored)) else {
      Issue.record("the lease is requested again, or the token is not saved")
      return
    }
    #expect(last.tokens.count == 1 && machine.state.lease == machine.lease)
  }

  @Test("a lease that expired while keys were fetched is believed in")
  func leaseExpired() throws {
    var machine = try Machine()
    machine.request()
    _ = machine.next(.answered(try token(idToken: "x")))
    _ = machine.next(.saved(machine.saved(2) { $0.grant.refreshToken = "r-2" }))
    machine.now = machine.now + RefreshState.leaseDuration
    guard case .lease = machine.next(.validated(nil)) else {
      Issue.record("no new lease")
      return
    }
    _ = machine.next(.leased(machine.lease))
    // Another process has refreshed since: its tokens count.
    guard case .finish(.success(let live)) = machine.next(.read(machine.saved(3))) else {
      Issue.record("overwritten")
      return
    }
    #expect(live.version == 3)
  }

  @Test("another process's login is overwritten when it comes between the request and its answer")
  func superseded() throws {
    var machine = try Machine()
    machine.request()
    _ = machine.next(.answered(try token(idToken: "x")))
    guard case .finish(.success(let live)) = machine.next(.saved(machine.saved(5) { $0.grant.refreshToken = "theirs" }))
    else {
      Issue.record("not finished")
      return
    }
    #expect(live.contents.grant.refreshToken == "theirs")
  }

  @Test("an outage or a rejection that is not final logs the user out")
  func outage() throws {
    var machine = try Machine()
    machine.request()
    let action = machine.next(.rejected(SessionError(ofRefresh: TokenError(.rejected(nil), "no"))))
    #expect(error(action) != nil)
    guard case .setBackoff(_?)? = machine.state.takeEffects().first else {
      Issue.record("no pause")
      return
    }
  }

  @Test("tokens stay in a session whose grant the issuer has ended, or its uid is not notified")
  func finalRejection() throws {
    var machine = try Machine()
    machine.request()
    let reason = SessionError(.expired, "over", isFinal: true)
    guard case .save(let contents, _) = machine.next(.rejected(reason)) else {
      Issue.record("not saved")
      return
    }
    #expect(contents.grant.isRejected && contents.grant.refreshToken == nil && contents.tokens.isEmpty)
    let action = machine.next(.saved(machine.saved(2) { $0.grant.isRejected = true }))
    #expect(error(action) != nil)
    let isAnnounced = machine.state.takeEffects().contains { if case .announceEnd = $0 { true } else { false } }
    #expect(isAnnounced)
  }

  @Test("a final rejection of an old refresh token ends a session that another process has refreshed")
  func finalButRefreshed() throws {
    var machine = try Machine()
    machine.request()
    _ = machine.next(.rejected(SessionError(.expired, "over", isFinal: true)))
    guard case .finish(.success) = machine.next(.saved(machine.saved(4))) else {
      Issue.record("ended")
      return
    }
  }

  @Test("tokens of a session that ended during its refresh stay valid at the issuer")
  func ended() throws {
    var machine = try Machine()
    machine.request()
    _ = machine.next(.answered(try token()))
    _ = machine.state.takeEffects()
    #expect(error(machine.next(.failed(.notFound))) != nil)
    let isRevoked = machine.state.takeEffects().contains { if case .revokeOrphaned = $0 { true } else { false } }
    #expect(isRevoked)
  }

  @Test("the wait for another process's lease never ends, or ends although it has refreshed the token")
  func waiting() throws {
    var machine = try Machine()
    for event in [RefreshState.Event.began, .read(machine.live), .located] { _ = machine.next(event) }
    guard case .wait = machine.next(.leased(nil)), case .read = machine.next(.waited),
      case .lease = machine.next(.read(machine.live))
    else {
      Issue.record("does not wait")
      return
    }
    machine.now = machine.now + RefreshState.leaseDuration
    #expect(error(machine.next(.leased(nil))) != nil)
  }

  @Test("a session without a refresh token is refreshed, or one whose issuer wants a pause")
  func notRefreshed() throws {
    var machine = try Machine(refreshToken: nil)
    _ = machine.next(.began)
    #expect(error(machine.next(.read(machine.live))) != nil)
    let rejection = TokenBackoff(after: TokenError(.rejected(nil), "no"), previous: nil, now: machine.now)
    var paused = try Machine(backoff: rejection)
    paused.now = machine.now
    _ = paused.next(.began)
    #expect(error(paused.next(.read(paused.live))) != nil)
  }
}
