import OAuthClient
import PosternJSON
import PosternSupport

extension SessionContents {
  /// The longest life a caller may give a token.
  private static let maxLifetime = 366 * 86_400

  /// Takes in what a token endpoint answered.
  mutating func take(_ answer: TokenRequests.Answer, in slot: TokenSlot) {
    let response = answer.response
    // A refresh may grant less than before (RFC 6749 section 6).
    if slot == .session, let narrower = response.scope { grant.scope = narrower }
    // Nor does it grant more, unless the answer states that.
    let isImplied = grant.refreshToken == nil || grant.scope.map { ScopeText.covers($0, slot.scope ?? "") } ?? true
    // Without a new one the old stays valid (RFC 6749 section 6).
    if let refreshToken = response.refreshToken { grant.refreshToken = refreshToken }
    keep(
      StoredToken(
        slot: slot, value: response.accessToken, scope: response.scope ?? (isImplied ? slot.scope : nil) ?? grant.scope,
        obtainedAt: answer.sentAt.millisecondsSinceEpoch,
        lifetime: lifetime(response.statesLifetime ? response.lifetime : nil).wholeMilliseconds,
        type: answer.binding.storedType))
    // An implicit session ends with its profile, whatever its tokens do.
    guard kind == .user else { return }
    life.expiresAt = isRefreshable ? nil : tokens.last?.expiresAt.millisecondsSinceEpoch
  }

  /// Takes in the token of a refresh, after what it replaces or ends.
  mutating func take(_ refresh: RefreshedToken) {
    if refresh.dropsRefreshToken { grant.refreshToken = nil }
    if let end = refresh.expiresAt { life.expiresAt = end.millisecondsSinceEpoch }
    take(refresh.answer, in: refresh.slot)
  }

  /// Takes in tokens that came from elsewhere.
  mutating func take(_ given: SessionGrant.GivenTokens, at now: Timestamp) throws(SessionError) {
    guard given.accessToken != nil || given.refreshToken != nil else {
      throw SessionError(.invalid(path: []), "accessToken, refreshToken, or ssoToken alone is needed")
    }
    if let seconds = given.expiresIn, !(0...Self.maxLifetime).contains(seconds) {
      throw SessionError(.invalid(path: ["expiresIn"]), "expiresIn must be from 0 to \(Self.maxLifetime)")
    }
    guard given.ssoToken.map({ AccessManager.isToken($0.reveal()) }) ?? true else {
      throw SessionError(.invalid(path: ["ssoToken"]), "a single sign-on token that cannot be sent in a cookie")
    }
    grant.scope = given.scope
    grant.refreshToken = given.refreshToken?.reveal()
    signOn.token = given.ssoToken?.reveal()
    if let token = given.accessToken {
      let value = token.reveal()
      guard (1...TokenResponse.maxTokenBytes).contains(value.utf8.count),
        value.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F })
      else { throw SessionError(.invalid(path: ["accessToken"]), "an access token that cannot be sent") }
      let lifetime = lifetime(given.expiresIn.map { Duration.seconds($0) })
      keep(
        StoredToken(
          slot: .session, value: value, scope: given.scope, obtainedAt: now.millisecondsSinceEpoch,
          lifetime: lifetime.wholeMilliseconds))
    }
    life.expiresAt = isRefreshable ? nil : tokens.last?.expiresAt.millisecondsSinceEpoch
  }

  /// The lifetime of a token. Where it is not known, it is short if the token can be refreshed; else the token is used
  /// until it is rejected, as those of GitHub and Slack are.
  private func lifetime(_ stated: Duration?) -> Duration {
    stated ?? (isRefreshable ? TokenResponse.defaultLifetime : TokenResponse.maxLifetime)
  }

  /// How long a session that can be refreshed is kept without a refresh.
  static let idleLife = Duration.seconds(90 * 86_400)
  /// How much longer than the session, so that the error is `expired` rather than `notFound`.
  private static let grace = Duration.seconds(86_400)

  /// When a store may forget what is written at `now`.
  func purgeable(at now: Timestamp) -> Timestamp {
    if isReplaced, let end = life.expiresAt { return Timestamp(millisecondsSinceEpoch: end) }
    if let expiresAt = life.expiresAt { return Timestamp(millisecondsSinceEpoch: expiresAt) + Self.grace }
    return max(now + Self.idleLife, (tokens.map(\.expiresAt).max() ?? now) + Self.grace)
  }
}
