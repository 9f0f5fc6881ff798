/// Work of many flows in a fair order: start-time fair queueing in two levels, by uid and by the uid's flows.
///
/// The cost of a flow's work raises its start time, so that a flow with little work is next when it adds some: a busy
/// neighbour delays it by the piece of work that is being done, not by the queue behind that. Unused capacity is not
/// lost. Not synchronized: it belongs behind a lock.
///
/// It orders work whose cost is known only afterwards, in threads and event loops. Where operations take a slot for an
/// unknown time, `ConcurrencyLimiter` counts slots instead.
public struct FairQueue<Work> {
  /// A source of work, such as a connection. Its work stays in order.
  public final class Flow: @unchecked Sendable {
    // Sendable because only its queue uses the variables, behind the queue's lock.
    fileprivate let account: Account
    fileprivate var start: Int64 = 0
    fileprivate var work: [Work?] = []
    fileprivate var next = 0

    fileprivate init(_ account: Account) { self.account = account }

    fileprivate var isEmpty: Bool { next == work.count }

    fileprivate func take() -> Work? {
      let taken = work[next]
      work[next] = nil
      next += 1
      if next == work.count {
        work.removeAll(keepingCapacity: next <= 64)
        next = 0
      } else if next >= 64, next * 2 >= work.count {
        work.removeFirst(next)
        next = 0
      }
      return taken
    }
  }

  /// A uid: its flows share what it gets.
  fileprivate final class Account {
    let uid: UInt32
    var start: Int64 = 0
    var now: Int64 = 0
    var waiting: [Flow] = []
    var flowCount = 0

    init(uid: UInt32) { self.uid = uid }
  }

  private var accounts: [UInt32: Account] = [:]
  private var waiting: [Account] = []
  private var now: Int64 = 0

  /// An empty queue.
  public init() {}

  /// Whether no work waits.
  public var isEmpty: Bool { waiting.isEmpty }

  /// Opens a flow of `uid`; `close` must follow.
  public mutating func open(uid: UInt32) -> Flow {
    let account = accounts[uid] ?? Account(uid: uid)
    accounts[uid] = account
    account.flowCount += 1
    return Flow(account)
  }

  /// Closes the flow; work that it still adds is done as before.
  public mutating func close(_ flow: Flow) {
    flow.account.flowCount -= 1
    if flow.account.flowCount == 0 { accounts[flow.account.uid] = nil }
  }

  /// Adds work behind the earlier work of the flow.
  public mutating func add(_ work: Work, of flow: Flow) {
    let wasEmpty = flow.isEmpty
    flow.work.append(work)
    guard wasEmpty else { return }
    let account = flow.account
    flow.start = max(flow.start, account.now)
    account.waiting.append(flow)
    guard account.waiting.count == 1 else { return }
    account.start = max(account.start, now)
    waiting.append(account)
  }

  /// The next work and its flow. Report its cost with `charge`.
  public mutating func next() -> (work: Work, flow: Flow)? {
    guard let index = Self.first(of: waiting) else { return nil }
    let account = waiting[index]
    now = max(now, account.start)
    guard let flowIndex = Self.first(of: account.waiting) else { return nil }
    let flow = account.waiting[flowIndex]
    account.now = max(account.now, flow.start)
    guard let work = flow.take() else { return nil }
    if flow.isEmpty { account.waiting.remove(at: flowIndex) }
    if account.waiting.isEmpty { waiting.remove(at: index) }
    return (work, flow)
  }

  /// Adds the cost of work of `flow`, in any unit that is the same for all.
  public mutating func charge(_ flow: Flow, _ cost: Int64) {
    flow.start += cost
    flow.account.start += cost
  }

  /// The account with the earliest start; of several, the one that has waited for longest.
  private static func first(of accounts: [Account]) -> Int? {
    guard var start = accounts.first?.start else { return nil }
    var best = 0
    for (index, account) in accounts.enumerated() where account.start < start { (best, start) = (index, account.start) }
    return best
  }

  /// The same among the flows of a uid.
  private static func first(of flows: [Flow]) -> Int? {
    guard var start = flows.first?.start else { return nil }
    var best = 0
    for (index, flow) in flows.enumerated() where flow.start < start { (best, start) = (index, flow.start) }
    return best
  }
}
