import Support

/// Which refusals of users whom no rule lets in are recorded one by one: whoever may knock may not fill the disk by it.
final class RefusalLedger: Sendable {
  private struct Account {
    var bucket: TokenBucket
    var more: Int64 = 0
  }

  private static let rate = AccessRules.Rate(perSecond: 0.1, burst: 10)
  /// Of so many users it is known; the others share an account.
  private static let capacity = 1024

  private let accounts = Locked<[UInt32?: Account]>([:])
  private let clock: any EngineClock

  init(clock: any EngineClock) { self.clock = clock }

  /// How many refusals of `uid` before this one were not recorded; nil when this one is not to be either.
  func admit(_ uid: UInt32) -> Int64? {
    let now = clock.monotonicNow
    return accounts.withLock { accounts in
      if accounts[uid] == nil, accounts.count >= Self.capacity {
        accounts = accounts.filter { !$0.value.bucket.isFull(at: now) }
      }
      let key: UInt32? = accounts[uid] == nil && accounts.count >= Self.capacity ? nil : uid
      var account = accounts[key] ?? Account(bucket: TokenBucket(Self.rate, at: now))
      defer { accounts[key] = account }
      guard account.bucket.take(Self.rate, at: now) == nil else {
        account.more += 1
        return nil
      }
      defer { account.more = 0 }
      return account.more
    }
  }
}
