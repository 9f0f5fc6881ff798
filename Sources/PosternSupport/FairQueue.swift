/// Work of many flows in a fair order: start-time fair queueing in two levels, by owner and by the owner's flows.
///
/// What a flow has cost moves its turn back, so that whoever asks for little is next when it asks: a busy neighbour
/// costs it the piece of work that is being done, not the queue behind it. Nothing is lost while nobody else wants
/// anything. Not synchronised: belongs behind the lock of whoever has it.
public struct FairQueue<Work> {
  /// One that brings work, such as a connection. Its work stays in order.
  public final class Flow: @unchecked Sendable {
    // Sendable because every variable is touched by its queue only, and so behind the queue's lock.
    fileprivate let account: Account
    fileprivate var turn: Int64 = 0
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

  /// An owner: what its flows get is shared among them.
  fileprivate final class Account {
    let owner: UInt32
    var turn: Int64 = 0
    var now: Int64 = 0
    var waiting: [Flow] = []
    var flowCount = 0

    init(owner: UInt32) { self.owner = owner }
  }

  private var accounts: [UInt32: Account] = [:]
  private var waiting: [Account] = []
  private var now: Int64 = 0

  /// An empty queue.
  public init() {}

  /// Whether nothing waits.
  public var isEmpty: Bool { waiting.isEmpty }

  /// Makes a flow of `owner`'s; `close` must follow.
  public mutating func open(owner: UInt32) -> Flow {
    let account = accounts[owner] ?? Account(owner: owner)
    accounts[owner] = account
    account.flowCount += 1
    return Flow(account)
  }

  /// The flow is over; work that it still brings is done as before.
  public mutating func close(_ flow: Flow) {
    flow.account.flowCount -= 1
    if flow.account.flowCount == 0 { accounts[flow.account.owner] = nil }
  }

  /// Adds work behind what the flow has brought before.
  public mutating func add(_ work: Work, of flow: Flow) {
    let wasEmpty = flow.isEmpty
    flow.work.append(work)
    guard wasEmpty else { return }
    let account = flow.account
    flow.turn = max(flow.turn, account.now)
    account.waiting.append(flow)
    guard account.waiting.count == 1 else { return }
    account.turn = max(account.turn, now)
    waiting.append(account)
  }

  /// What is to be done next, and whose it is. Tell with `charge` what it has cost.
  public mutating func next() -> (work: Work, flow: Flow)? {
    guard let place = Self.first(of: waiting) else { return nil }
    let account = waiting[place]
    now = max(now, account.turn)
    guard let flowPlace = Self.first(of: account.waiting) else { return nil }
    let flow = account.waiting[flowPlace]
    account.now = max(account.now, flow.turn)
    guard let work = flow.take() else { return nil }
    if flow.isEmpty { account.waiting.remove(at: flowPlace) }
    if account.waiting.isEmpty { waiting.remove(at: place) }
    return (work, flow)
  }

  /// Work of `flow` has cost that much, in whatever unit everything else is told.
  public mutating func charge(_ flow: Flow, _ cost: Int64) {
    flow.turn += cost
    flow.account.turn += cost
  }

  /// The account whose turn is first; of several the one that has waited for longest.
  private static func first(of accounts: [Account]) -> Int? {
    guard var turn = accounts.first?.turn else { return nil }
    var best = 0
    for (place, account) in accounts.enumerated() where account.turn < turn { (best, turn) = (place, account.turn) }
    return best
  }

  /// The same among an owner's flows.
  private static func first(of flows: [Flow]) -> Int? {
    guard var turn = flows.first?.turn else { return nil }
    var best = 0
    for (place, flow) in flows.enumerated() where flow.turn < turn { (best, turn) = (place, flow.turn) }
    return best
  }
}
