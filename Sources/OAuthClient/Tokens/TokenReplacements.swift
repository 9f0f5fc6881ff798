package import PosternSupport

/// How often each user may have tokens replaced that would still do for others: by showing them where they are refused,
/// or by wanting a longer life. Each replacement costs the issuer a request, and may end the token before.
package final class TokenReplacements<Kind: Hashable & Sendable>: Sendable {
  private struct Claim: Hashable, Sendable {
    let kind: Kind
    let uid: UInt32
  }

  private struct Account: Sendable {
    /// Some at once, as tokens may be revoked more than once; one each ten seconds in the long run.
    var budget = RequestBudget(limit: 5, window: .seconds(50))
    /// The generation that was last paid for: all calls of a user that were refused with one token have it replaced
    /// together.
    var replaced: UInt64 = 0
  }

  private let accounts = Locked(FairCache<UInt32, Claim, Account>(capacity: 1024))

  package init() {}

  /// How long until the calling user may have the token of that kind and generation (from 1 on) replaced; nil: now,
  /// which counts.
  package func wait(toReplace generation: UInt64, of kind: Kind, at now: MonotonicInstant) -> Duration? {
    let uid = Requesting.uid ?? Requester.process.uid
    let claim = Claim(kind: kind, uid: uid)
    return accounts.withLock { accounts in
      var account = accounts[claim] ?? Account()
      guard account.replaced != generation else { return nil }
      guard account.budget.take(at: now) else { return account.budget.wait(at: now) }
      account.replaced = generation
      accounts.set(account, for: claim, of: uid)
      return nil
    }
  }
}
