public import OAuthClient
public import PosternSupport

/// The token that a caller needs of a session.
public struct TokenNeed: Sendable {
  /// The scope that the token must have; nil: the session's.
  public var scope: String?
  /// The API that must accept it; nil: whatever the session was created for.
  public var audience: String?
  /// Whether the session's own token never replaces one for `scope` and `audience`.
  public var isNarrow = false
  /// Whether the session's own token is enough if the issuer does not grant `scope`: the resource server decides.
  public var mayLackScope = false
  /// A token that was rejected: another one is needed, whatever its times say.
  public var rejected: AccessToken?
  /// How much longer it has to live; nil: it has to be fresh.
  public var minimumLife: Duration?

  /// A need; the defaults are the session's own token, fresh.
  public init(
    scope: String? = nil, audience: String? = nil, isNarrow: Bool = false, mayLackScope: Bool = false,
    rejected: AccessToken? = nil, minimumLife: Duration? = nil
  ) {
    self.scope = scope
    self.audience = audience
    self.isNarrow = isNarrow
    self.mayLackScope = mayLackScope
    self.rejected = rejected
    self.minimumLife = minimumLife
  }

  /// The slot of the token: the session's own where that is valid for the resource.
  ///
  /// Where it may lack a part of the scope it is that one, too, unless there is another one or a grant for it: a refresh
  /// token is good for no scope that was not granted (RFC 6749 section 6).
  func slot(in live: LiveSession) -> TokenSlot {
    let slot = TokenSlot(scope: scope, audience: audience)
    guard !isNarrow, audience == nil else { return slot }
    guard let scope, let granted = live.contents.grant.scope, !ScopeText.covers(granted, scope) else { return .session }
    return mayLackScope && live.tokens[slot] == nil && !live.contents.mayGetOtherScopes ? .session : slot
  }

  /// The need without its scope, where that is not granted and need not be.
  func withoutScope(after error: SessionError) -> TokenNeed? {
    guard mayLackScope, scope != nil, audience == nil, rejected == nil, error.isScopeRejected else { return nil }
    var any = self
    any.scope = nil
    return any
  }

  /// Whether `token` will do without a refresh.
  func isMet(by token: AccessToken, at now: MonotonicInstant) -> Bool {
    isAnother(token) && token.isFresh(at: now) && (minimumLife.map { token.expiry >= now + $0 } ?? true)
  }

  /// Whether `token` will do after a refresh that began when `seen` was the latest. One that has not expired is enough:
  /// a life so short that it is never fresh must not cause refreshes without end. Another caller's run may have
  /// refreshed another slot, or nothing.
  func isMet(by token: AccessToken, after seen: AccessToken?, at now: MonotonicInstant) -> Bool {
    guard isAnother(token), token.expiry > now else { return false }
    guard let minimumLife, token.value == seen?.value else { return true }
    return token.expiry >= now + minimumLife
  }

  /// Whether the caller need not wait for a fresh token while it has `token`, which has not expired yet.
  func canUse(_ token: AccessToken, at now: MonotonicInstant) -> Bool {
    rejected == nil && minimumLife == nil && token.expiry > now
  }

  /// Whether `token` will do while the issuer is out of reach.
  func canFallBack(to token: AccessToken, at now: MonotonicInstant) -> Bool { isAnother(token) && token.expiry > now }

  /// Generations tell tokens of one process apart; after a record was read again, only the token itself does.
  private func isAnother(_ token: AccessToken) -> Bool {
    guard let rejected else { return true }
    return token.generation > rejected.generation && token.value != rejected.value
  }
}

extension TokenNeed: ConciseStringConvertible {
  /// Scope and audience.
  public var description: String { Concise.text(scope, audience) }
}
