public import OAuthClient
public import PosternJSON
import PosternSupport
import SessionRecords
public import Sessions
public import TokenValidation

/// The effect of a valid logout token (OpenID Connect Back-Channel Logout 1.0 section 2.7).
extension PosternEngine {
  /// Ends the sessions of the login that a logout token names, of all uids, and forgets what is cached about them.
  /// Returns their number.
  ///
  /// With `sid` these are the sessions of that login alone, which must be of `sub` where the token has both; else all
  /// of `sub`. Complete and durable when it returns; other processes that share the store notice within a second. Where
  /// it throws, the token is valid once more, and a retry ends the rest. The sessions' tokens are revoked behind the
  /// caller. The cost is that of reading every session of the store.
  ///
  /// - Parameters:
  ///   - claims: The claims of a logout token that `validators.logoutTokens` found valid.
  ///   - expectations: Those of that validation.
  ///   - issuer: The issuer of that validation.
  ///   - scope: The caller, whose uid the work is counted for, and the end of the wait; the work that has started
  ///     continues.
  /// - Throws: `SessionError`: the store cannot be used, the deadline has passed, or the caller has too much under way.
  public func endSessions(
    of claims: JSONObject, expecting expectations: LogoutTokenExpectations, at issuer: SessionIssuer,
    in scope: CallScope = CallScope()
  ) async throws(SessionError) -> Int {
    let logout = SessionLogout(claims: claims, issuer: issuer, sessions: sessions)
    // First, so that a store that cannot be used leaves none of it in force.
    validators.verdicts.removeTokens(of: logout.subject, sid: logout.sid, issuer: issuer.issuer.identifier)
    validators.requests.judge.answers.removeAnswers(of: logout.subject, sid: logout.sid, at: issuer.issuer)
    // Both: few access tokens have a sid, and a token that is exchanged once more costs one request.
    if let sid = logout.sid { exchangedTokens.forget(sessionID: sid, at: issuer.issuer) }
    if let subject = logout.subject { exchangedTokens.forget(subject: subject, at: issuer.issuer) }
    do throws(SessionError) {
      return try await sessions.tasks.finish(.logout, at: issuer.issuer.name, in: scope) {
        scope async throws(SessionError) in
        try await logout.run(in: scope)
      }
    } catch {
      validators.logoutTokens.permitRetry(of: claims, expecting: expectations, configuration: issuer.tokens)
      throw error
    }
  }
}

/// One logout at an issuer, as far as sessions are concerned.
private struct SessionLogout: Sendable {
  /// How many sessions are removed at a time: the store writes them together.
  private static let maxConcurrent = 32

  let subject: String?
  let sid: String?
  let issuer: SessionIssuer
  let sessions: UserSessions

  init(claims: JSONObject, issuer: SessionIssuer, sessions: UserSessions) {
    let named = { (claim: String) in claims[claim]?.stringValue.flatMap { $0.isEmpty ? nil : $0 } }
    subject = named("sub")
    sid = named("sid")
    self.issuer = issuer
    self.sessions = sessions
  }

  /// Which sessions there are is known before the first one is ended, so that a store that cannot be read ends none.
  func run(in scope: CallScope) async throws(SessionError) -> Int {
    // Before the search: a login that completes meanwhile finds the mark, or is found.
    if let sid { try await sessions.repository.markLogout(of: sid, at: issuer.issuer, in: scope) }
    var found: [(uid: UInt32, handles: [SessionHandle])] = []
    for uid in try await owners(in: scope).sorted() {
      var handles: [SessionHandle] = []
      try await sessions.repository.forEachRecord(ownedBy: uid, in: scope) { contents, handle, _ in
        if contents.belongs(to: subject, sid: sid, at: issuer.issuer) { handles.append(handle) }
        return true
      }
      if !handles.isEmpty { found.append((uid, handles)) }
    }
    var count = 0
    for (uid, handles) in found { count += try await end(handles, ownedBy: uid, in: scope) }
    return count
  }

  private func owners(in scope: CallScope) async throws(SessionError) -> Set<UInt32> {
    do throws(StoreError) {
      return try await sessions.store.owners(in: .session, by: scope.uid)
    } catch {
      throw SessionError(error)
    }
  }

  private func end(_ handles: [SessionHandle], ownedBy uid: UInt32, in scope: CallScope) async throws(SessionError)
    -> Int
  {
    var rest = handles[...]
    var count = 0
    var tokens: [RetiredToken] = []
    // Those of a run that fails, too: nothing else knows them any more.
    defer { sessions.revocation.revoke(tokens, endedBy: issuer, of: uid, in: scope) }
    while !rest.isEmpty {
      let some = rest.prefix(Self.maxConcurrent)
      rest = rest.dropFirst(some.count)
      let outcomes = await withTaskGroup(of: Result<[RetiredToken]?, SessionError>.self) { group in
        for handle in some {
          group.addTask { [sessions] in
            do throws(SessionError) {
              return .success(try await sessions.endHere(handle, ownedBy: uid, in: scope))
            } catch { return .failure(error) }
          }
        }
        return await group.reduce(into: []) { $0.append($1) }
      }
      let ended = outcomes.compactMap { (try? $0.get()) ?? nil }
      count += ended.count
      tokens += ended.joined()
      for outcome in outcomes { _ = try outcome.get() }
    }
    return count
  }
}
