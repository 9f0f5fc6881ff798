/// Work of many flows in a fair order: start-time fair queueing in two levels, by uid and by the uid's flows.
///
/// The cost of a flow's work raises its start time, so that a flow with little work is next when it adds some: a busy
/// neighbour delays it by the piece of work that is being done, not by the queue behind that. Unused capacity is not
/// lost. Not synchronized: it belongs behind a lock. Every operation takes time logarithmic in the flows and uids that
/// have work.
///
/// It orders work whose cost is known only afterwards, in threads and event loops. Where operations take a slot for an
/// unknown time, `ConcurrencyLimiter` counts slots instead.
public struct FairQueue<Work> {
  /// A source of work, such as a connection. Its work stays in order.
  public final class Flow: FairFlow, @unchecked Sendable {
    // Sendable because only its queue uses the variables, behind the queue's lock.
    @usableFromInline var work: [Work?] = []
    @usableFromInline var next = 0

    @usableFromInline
    override init(_ account: FairAccount) { super.init(account) }

    @inlinable var isEmpty: Bool { next == work.count }

    @inlinable
    func take() -> Work? {
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

  @usableFromInline var order = FairOrder()

  /// An empty queue.
  @inlinable
  public init() {}

  /// Whether no work waits.
  @inlinable public var isEmpty: Bool { order.isEmpty }

  /// Opens a flow of `uid`; `close` must follow.
  @inlinable
  public mutating func open(uid: UInt32) -> Flow { Flow(order.openAccount(of: uid)) }

  /// Closes the flow; work that it still adds is done as before.
  @inlinable
  public mutating func close(_ flow: Flow) { order.close(flow) }

  /// Adds work behind the earlier work of the flow.
  @inlinable
  public mutating func add(_ work: Work, of flow: Flow) {
    let wasEmpty = flow.isEmpty
    flow.work.append(work)
    if wasEmpty { order.add(flow) }
  }

  /// The next work and its flow. Report its cost with `charge`.
  @inlinable
  public mutating func next() -> (work: Work, flow: Flow)? {
    guard let flow = order.next().map({ unsafeDowncast($0, to: Flow.self) }), let work = flow.take() else { return nil }
    if flow.isEmpty { order.remove(flow) }
    return (work, flow)
  }

  /// Adds the cost of work of `flow`, in any unit that is the same for all.
  @inlinable
  public mutating func charge(_ flow: Flow, _ cost: Int64) { order.charge(flow, cost) }
}

/// A flow without its work.
public class FairFlow: FairParticipant {
  fileprivate let account: FairAccount

  @usableFromInline
  init(_ account: FairAccount) {
    self.account = account
    super.init()
  }
}

/// A uid: its flows share what it gets.
@usableFromInline
final class FairAccount: FairParticipant {
  fileprivate let uid: UInt32
  fileprivate var now: Int64 = 0
  fileprivate var waiting = FairHeap()
  fileprivate var flowCount = 0

  fileprivate init(uid: UInt32) { self.uid = uid }
}

/// The order of the flows of a `FairQueue`: the part that does not depend on the kind of work.
@usableFromInline
struct FairOrder {
  private var accounts: [UInt32: FairAccount] = [:]
  private var waiting = FairHeap()
  private var now: Int64 = 0

  @usableFromInline
  init() {}

  @usableFromInline var isEmpty: Bool { waiting.isEmpty }

  @usableFromInline
  mutating func openAccount(of uid: UInt32) -> FairAccount {
    let account = accounts[uid] ?? FairAccount(uid: uid)
    accounts[uid] = account
    account.flowCount += 1
    return account
  }

  @usableFromInline
  mutating func close(_ flow: FairFlow) {
    flow.account.flowCount -= 1
    if flow.account.flowCount == 0 { accounts[flow.account.uid] = nil }
  }

  /// The flow has work again.
  @usableFromInline
  mutating func add(_ flow: FairFlow) {
    let account = flow.account
    flow.start = max(flow.start, account.now)
    let wasEmpty = account.waiting.isEmpty
    account.waiting.add(flow)
    guard wasEmpty else { return }
    account.start = max(account.start, now)
    waiting.add(account)
  }

  /// The flow whose work is next.
  @usableFromInline
  mutating func next() -> FairFlow? {
    guard let account = waiting.first.map({ unsafeDowncast($0, to: FairAccount.self) }),
      let flow = account.waiting.first.map({ unsafeDowncast($0, to: FairFlow.self) })
    else { return nil }
    now = max(now, account.start)
    account.now = max(account.now, flow.start)
    return flow
  }

  /// The flow has no work left.
  @usableFromInline
  mutating func remove(_ flow: FairFlow) {
    flow.account.waiting.remove(flow)
    if flow.account.waiting.isEmpty { waiting.remove(flow.account) }
  }

  @usableFromInline
  mutating func charge(_ flow: FairFlow, _ cost: Int64) {
    flow.start += cost
    flow.account.waiting.moveBack(flow)
    flow.account.start += cost
    waiting.moveBack(flow.account)
  }
}

extension FairQueue: ConciseStringConvertible {}
