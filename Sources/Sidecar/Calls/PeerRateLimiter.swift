import PosternJSON
import PosternJSONRPC
import PosternSupport

/// How much each uid has called, where the rule of `peers` that lets it in has `rate` or `concurrency`.
///
/// Outlives a reload: a bucket that was emptied stays empty. A uid of which nothing is to be remembered is forgotten.
final class PeerRateLimiter: Sendable {
  /// Why a call is refused; the raw value is a label in the metrics.
  enum Refusal: String, Sendable {
    /// Too many calls in a short time.
    case rate
    /// Too many under way.
    case concurrency
  }

  fileprivate struct Key: Hashable {
    let uid: UInt32
    /// By what the rule is told from others: another one, after a reload too, is another account.
    let ruleUid: UInt32?
    let ruleGid: UInt32?
  }

  private struct Account {
    var calls: TokenBucket
    var probes: TokenBucket
    var inFlight = 0
  }

  /// A place among the calls under way, to be given back.
  struct Place: Sendable {
    fileprivate let key: Key
  }

  /// Of so many uids something is remembered; beyond that the one that has most left is forgotten.
  static let capacity = 4096
  /// Probes have a bucket of their own: a busy caller can still be asked whether all is well, and cannot make that a
  /// way around.
  static let probeRate = AccessRules.Rate(perSecond: 10, burst: 20)

  /// Calls that answer a question, by uid.
  private let answering = Locked<[UInt32: Int]>([:])
  private let accounts = Locked<[Key: Account]>([:])
  private let clock: any EngineClock

  init(clock: any EngineClock) { self.clock = clock }

  /// How many uids something is remembered of.
  var count: Int { accounts.withLock { $0.count } }

  /// Counts a call; nil when it may go, else how long until the next may.
  func admit(_ rule: AccessRules.Rule, uid: UInt32, isProbe: Bool) -> Duration? {
    guard let rate = rule.rate else { return nil }
    let now = clock.monotonicNow
    return accounts.withLock { accounts in
      let key = Key(uid: uid, ruleUid: rule.uid, ruleGid: rule.gid)
      if accounts[key] == nil { Self.makeRoom(in: &accounts, at: now) }
      var account = accounts[key] ?? Self.account(rate, at: now)
      defer { accounts[key] = account }
      return isProbe ? account.probes.take(Self.probeRate, at: now) : account.calls.take(rate, at: now)
    }
  }

  /// Whether `admit` would say no.
  func wouldRefuse(_ rule: AccessRules.Rule, uid: UInt32, isProbe: Bool) -> Bool {
    guard let rate = rule.rate else { return false }
    let now = clock.monotonicNow
    let account = accounts.withLock { $0[Key(uid: uid, ruleUid: rule.uid, ruleGid: rule.gid)] }
    // A copy: the bucket itself stays as it is.
    guard var bucket = isProbe ? account?.probes : account?.calls else { return false }
    return bucket.take(isProbe ? Self.probeRate : rate, at: now) != nil
  }

  /// Takes a place among the calls under way: nil where nobody counts them.
  func begin(_ rule: AccessRules.Rule, uid: UInt32) -> Result<Place?, LimitReached> {
    guard let limit = rule.concurrency else { return .success(nil) }
    let now = clock.monotonicNow
    return accounts.withLock { accounts in
      let key = Key(uid: uid, ruleUid: rule.uid, ruleGid: rule.gid)
      if accounts[key] == nil { Self.makeRoom(in: &accounts, at: now) }
      var account = accounts[key] ?? Self.account(rule.rate ?? Self.probeRate, at: now)
      guard account.inFlight < limit else { return .failure(LimitReached(limit: limit)) }
      account.inFlight += 1
      accounts[key] = account
      return .success(Place(key: key))
    }
  }

  /// Gives a place back.
  func end(_ place: Place?) {
    guard let place else { return }
    let now = clock.monotonicNow
    accounts.withLock { accounts in
      accounts[place.key]?.inFlight -= 1
      if let account = accounts[place.key], Self.isForgettable(account, at: now) { accounts[place.key] = nil }
    }
  }

  /// A call that answers one of `questions` begins; false when as many do already.
  func beginAnswering(uid: UInt32, among questions: Int) -> Bool {
    answering.withLock { answering in
      let count = answering[uid] ?? 0
      guard count < questions else { return false }
      answering[uid] = count + 1
      return true
    }
  }

  /// It is over.
  func endAnswering(uid: UInt32) {
    answering.withLock { answering in
      let count = (answering[uid] ?? 1) - 1
      answering[uid] = count > 0 ? count : nil
    }
  }

  /// The bound on calls under way has been reached.
  struct LimitReached: Error, Sendable {
    let limit: Int
  }

  private static func account(_ rate: AccessRules.Rate, at now: MonotonicInstant) -> Account {
    Account(calls: TokenBucket(rate, at: now), probes: TokenBucket(probeRate, at: now))
  }

  private static func isForgettable(_ account: Account, at now: MonotonicInstant) -> Bool {
    account.inFlight <= 0 && account.calls.isFull(at: now) && account.probes.isFull(at: now)
  }

  private static func makeRoom(in accounts: inout [Key: Account], at now: MonotonicInstant) {
    guard accounts.count >= capacity else { return }
    accounts = accounts.filter { !isForgettable($0.value, at: now) }
    while accounts.count >= capacity,
      let fullest = accounts.filter({ $0.value.inFlight <= 0 }).max(by: { $0.value.calls.level < $1.value.calls.level })
    {
      accounts[fullest.key] = nil
    }
  }
}
