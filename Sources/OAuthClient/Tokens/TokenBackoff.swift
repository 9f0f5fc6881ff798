package import PosternSupport

/// The backoff after a token endpoint's rejection, doubling up to 30 s.
///
/// It applies to rejections and to answers without a token, and to a busy server for the time in its `Retry-After`.
/// Wrong credentials are still wrong in an immediate retry; a server that is down is not burdened by one.
package struct TokenBackoff: Sendable {
  private static let (first, longest) = (Duration.seconds(1), Duration.seconds(30))

  let error: TokenError
  let until: MonotonicInstant
  /// Nil after an error that is no rejection.
  private let backoff: Backoff?

  /// The backoff after `error` at `now`, for client credentials tokens: 1 s after the first rejection in a row. Nil
  /// when the error calls for no delay.
  package init?(after error: TokenError, previous: TokenBackoff?, now: MonotonicInstant) {
    self.error = error
    switch error.kind {
    case .rejected, .malformed:
      var backoff = previous?.backoff ?? Backoff(first: Self.first, longest: Self.longest)
      until = now + backoff.fail(at: now)
      self.backoff = backoff
    case .unavailable:
      guard let retryAfter = error.retryAfter, retryAfter > .zero else { return nil }
      until = now + retryAfter
      backoff = nil
    default: return nil
    }
  }

  /// The backoff after the refresh of a user's session failed with `error` at `now`: 1 s after the second answer in a
  /// row without a token, be it a rejection or an unavailability; the first may be temporary. Nil when no server
  /// answered.
  package init?(afterRefresh error: TokenError, previous: TokenBackoff?, now: MonotonicInstant) {
    switch error.kind {
    case .rejected, .unavailable, .malformed: break
    default: return nil
    }
    var backoff = previous?.backoff ?? Backoff(first: Self.first, longest: Self.longest, tolerance: 1)
    until = now + backoff.fail(at: now, retryAfter: error.retryAfter)
    self.backoff = backoff
    self.error = error
  }

  /// Returns the error for a caller at `now`, with what is left of the delay; nil when it is over.
  package func error(at now: MonotonicInstant) -> TokenError? {
    until > now ? error.waiting(until - now) : nil
  }
}

/// Limits how often each user may have valid shared tokens replaced: after a resource server's rejection, or for a
/// longer lifetime. Each replacement costs the issuer a request, and may invalidate the previous token.
package final class TokenReplacementLimit<Kind: Hashable & Sendable>: Sendable {
  private struct Claim: Hashable, Sendable {
    let kind: Kind
    let uid: UInt32
  }

  private struct Account: Sendable {
    var budget: RequestBudget
    /// The latest generation that was counted: all calls of a user with the same rejected token share one replacement.
    var replaced: UInt64 = 0
  }

  private let limit: Int
  private let accounts = Locked(FairCache<UInt32, Claim, Account>(capacity: 1024))

  /// A limit of so many replacements in 50 seconds. Several at once, as tokens may be revoked more than once.
  package init(_ limit: Int = 5) { self.limit = limit }

  /// Returns how long `uid` has to wait until the token of that kind and generation (from 1 on) may be replaced; nil
  /// when it may be now, which is counted.
  package func wait(
    toReplace generation: UInt64, of kind: Kind, for uid: UInt32, at now: MonotonicInstant
  ) -> Duration? {
    let claim = Claim(kind: kind, uid: uid)
    return accounts.withLock { accounts in
      var account = accounts[claim] ?? Account(budget: RequestBudget(limit: limit, window: .seconds(50)))
      guard account.replaced != generation else { return nil }
      guard account.budget.take(at: now) else { return account.budget.wait(at: now) }
      account.replaced = generation
      accounts.set(account, for: claim, of: uid)
      return nil
    }
  }
}
