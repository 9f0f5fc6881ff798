import PosternSupport

/// Which refusals of users whom no rule lets in are recorded one by one, and which ends of connections are logged:
/// whoever may knock may not fill the disk by it.
final class RejectionSampler: Sendable {
  private struct Account {
    var bucket: TokenBucket
    var more: Int64 = 0
  }

  /// Of so many users it is known; the others share an account.
  private static let capacity = 1024

  private let accounts = Locked<[UInt32?: Account]>([:])
  private let clock: any EngineClock
  private let rate: AccessRules.Rate

  /// Ten at once and one each ten seconds, unless told otherwise.
  init(clock: any EngineClock, rate: AccessRules.Rate = AccessRules.Rate(perSecond: 0.1, burst: 10)) {
    self.clock = clock
    self.rate = rate
  }

  /// How many refusals of `uid` before this one were not recorded; nil when this one is not to be either.
  func admit(_ uid: UInt32) -> Int64? {
    let now = clock.monotonicNow
    return accounts.withLock { accounts in
      if accounts[uid] == nil, accounts.count >= Self.capacity { forgetIdle(&accounts, at: now) }
      let key: UInt32? = accounts[uid] == nil && accounts.count >= Self.capacity ? nil : uid
      var account = accounts[key] ?? Account(bucket: TokenBucket(rate, at: now))
      defer { accounts[key] = account }
      guard account.bucket.take(rate, at: now) == nil else {
        account.more += 1
        return nil
      }
      defer { account.more = 0 }
      return account.more
    }
  }

  /// What those who have not knocked for long still have to be told of goes to the shared account.
  private func forgetIdle(_ accounts: inout [UInt32?: Account], at now: MonotonicInstant) {
    let idle = accounts.filter { $0.key != nil && $0.value.bucket.isFull(at: now) }
    for uid in idle.keys { accounts[uid] = nil }
    let more = idle.values.reduce(0) { $0 + $1.more }
    guard more > 0 else { return }
    accounts[nil, default: Account(bucket: TokenBucket(rate, at: now))].more += more
  }

  /// How many refusals of whom were not recorded, in the order of uids; they count as recorded from here on. Nil is for
  /// those who share an account.
  func takeRest() -> [(uid: UInt32?, more: Int64)] {
    let rest = accounts.withLock { accounts in
      let rest = accounts.filter { $0.value.more > 0 }
      for uid in rest.keys { accounts[uid]?.more = 0 }
      return rest
    }
    return rest.map { ($0.key, $0.value.more) }.sorted { ($0.uid ?? .max) < ($1.uid ?? .max) }
  }
}
