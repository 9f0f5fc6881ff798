package import AuthEngine
import HTTPMessages
package import PosternProtocol
package import PosternSupport

/// The tasks of `fetchResource`, per uid and level of a chain: those that run, and for a minute those that have ended.
package final class TaskRegistry: Sendable {
  /// A task that there is, or was.
  package enum Known {
    /// A running task.
    case running(NetworkTask)
    /// A task that has ended.
    case ended(TaskDescription)

    /// Whether it runs.
    fileprivate var isRunning: Bool {
      if case .running = self { true } else { false }
    }

    /// The task as its owner sees it.
    package var description: TaskDescription {
      switch self {
      case .running(let task): TaskDescription(task)
      case .ended(let description): description
      }
    }
  }

  /// A task in a list.
  package struct Entry {
    package let task: Known
    /// The resource server's name in the configuration.
    package let resource: String
    /// The chain that it was begun through.
    package let narrowing: Narrowing?
    /// Where it is in the list as it was at one time: it stays there when the task ends.
    package let position: Int64
  }

  /// The name of a task. The levels of a chain have names of their own.
  private struct Name: Hashable, Sendable {
    /// The id of the level that it was begun through; nil: none.
    let level: String?
    let task: String
  }

  private struct Running {
    let task: NetworkTask
    let resource: String
    let narrowing: Narrowing?
    let number: Int64
  }

  /// The record of a task that has ended, without request and response.
  private struct Ended {
    let record: TaskRecord
    let running: (resource: String, narrowing: Narrowing?, number: Int64)
    let number: Int64
    let at: MonotonicInstant
  }

  /// The tasks of one uid. A class, behind the registry's lock: each fetch changes it twice.
  private final class UIDTasks: @unchecked Sendable {
    // Sendable because it is used behind the registry's lock only.
    var running: [Name: Running] = [:]
    var ended: [Name: Ended] = [:]
    /// All of them as they began.
    var order = ArrivalOrder<Name>()
    /// Those of them that run.
    var runningOrder = ArrivalOrder<Name>()
    /// The tasks that have ended, in that order; of all levels, and of each.
    var endings = ArrivalOrder<Name>()
    var levelEndings: [String?: ArrivalOrder<Name>] = [:]
    /// How many tasks of each level there are.
    var levels: [String?: Int] = [:]

    /// A task, and the number that it began with.
    func known(_ name: Name) -> (task: Known, resource: String, narrowing: Narrowing?, number: Int64)? {
      if let running = running[name] {
        return (.running(running.task), running.resource, running.narrowing, running.number)
      }
      return ended[name].map {
        (.ended($0.record.description), $0.running.resource, $0.running.narrowing, $0.running.number)
      }
    }

    func begin(_ name: Name, _ task: Running) {
      forget(name)
      running[name] = task
      order.add(name, number: task.number)
      runningOrder.add(name, number: task.number)
      levels[name.level, default: 0] += 1
    }

    func end(_ name: Name, _ task: Ended) {
      running[name] = nil
      runningOrder.remove(name)
      ended[name] = task
      endings.add(name, number: task.number)
      levelEndings[name.level, default: ArrivalOrder()].add(name, number: task.number)
    }

    func forget(_ name: Name) {
      guard ended.removeValue(forKey: name) != nil else { return }
      endings.remove(name)
      order.remove(name)
      levelEndings[name.level]?.remove(name)
      if levelEndings[name.level]?.isEmpty == true { levelEndings[name.level] = nil }
      levels.countDown(name.level)
    }

    /// Forgets those that had ended a while before `now`.
    func forgetOld(at now: MonotonicInstant) {
      while let name = endings.first()?.name, let oldest = ended[name], oldest.at + TaskRegistry.memory <= now {
        forget(name)
      }
    }

    /// Forgets the one that ended first of the level with the most; false when there is none.
    func forgetOldest() -> Bool {
      guard let most = levelEndings.max(by: { $0.value.count < $1.value.count }),
        let name = levelEndings[most.key]?.first()?.name
      else { return false }
      forget(name)
      return true
    }

    /// Whether the task ran when `moment` was the last number that was taken.
    func ran(_ name: Name, at moment: Int64) -> Bool { ended[name].map { $0.number > moment } ?? true }

    /// At most `count` of those that ran at that moment and began before `number`, the newest first.
    func thoseThatRan(at moment: Int64, before number: Int64, atMost count: Int) -> [Name] {
      let ended = endings.names(after: moment, atMost: .max).compactMap { entry in
        self.ended[entry.name].map { (name: entry.name, number: $0.running.number) }
      }
      let names =
        ended.filter { $0.number < number }
        + runningOrder.names(before: number, atMost: count).map { (name: $0.name, number: $0.number) }
      return names.sorted { $0.number > $1.number }.prefix(count).map(\.name)
    }
  }

  private struct State {
    var uids: [UInt32: UIDTasks] = [:]
    var endedCount = 0
    var lastNumber: Int64 = 0
    var sweptAt: MonotonicInstant?

    mutating func takeNumber() -> Int64 {
      lastNumber += 1
      return lastNumber
    }

    /// Changes what there is of one uid.
    mutating func change<Result>(_ uid: UInt32, _ body: (UIDTasks) -> Result) -> Result {
      let tasks = tasks(of: uid)
      let before = tasks.ended.count
      let result = body(tasks)
      endedCount += tasks.ended.count - before
      if tasks.order.isEmpty { uids[uid] = nil }
      return result
    }

    private mutating func tasks(of uid: UInt32) -> UIDTasks {
      if let tasks = uids[uid] { return tasks }
      let tasks = UIDTasks()
      uids[uid] = tasks
      return tasks
    }
  }

  /// How long a task is known after its end.
  package static let memory = Duration.seconds(60)
  /// How many tasks that have ended are kept at most: beyond that the oldest are removed, of the uid with the most, and
  /// of that uid's level with the most.
  package static let capacity = 4096

  private let state = Locked(State())
  private let clock: any EngineClock

  package init(clock: any EngineClock) { self.clock = clock }

  /// Notes a task for a resource down, which was begun through a chain; false when one of that name runs at its last
  /// level.
  package func begin(
    _ task: NetworkTask, for resource: String, of uid: UInt32, through narrowing: Narrowing? = nil
  ) -> Bool {
    let name = Name(level: narrowing?.id, task: task.identifier)
    return state.withLock { state in
      let number = state.takeNumber()
      return state.change(uid) { tasks in
        guard tasks.running[name] == nil else { return false }
        tasks.begin(name, Running(task: task, resource: resource, narrowing: narrowing, number: number))
        return true
      }
    }
  }

  /// The task has ended.
  package func end(_ task: NetworkTask, of uid: UInt32, through narrowing: Narrowing? = nil) {
    let name = Name(level: narrowing?.id, task: task.identifier)
    let record = TaskRecord(task)
    let now = clock.monotonicNow
    state.withLock { state in
      let number = state.takeNumber()
      state.change(uid) { tasks in
        guard let running = tasks.running[name], running.task === task else { return }
        tasks.end(
          name,
          Ended(
            record: record, running: (running.resource, running.narrowing, running.number), number: number, at: now))
      }
      Self.forget(&state, uid, now)
      Self.sweep(&state, now)
    }
  }

  /// Whether a task of that name runs at that level.
  package func isRunning(_ name: String, of uid: UInt32, through narrowing: Narrowing?) -> Bool {
    state.withLock { $0.uids[uid]?.running[Name(level: narrowing?.id, task: name)] != nil }
  }

  /// The task of that name which was begun through `narrowing`, else through a level below: one that runs before one
  /// that has ended, the newest first. Nil when there is none, or it is for a resource outside of `scope`. Behind one
  /// lock: a task that starts meanwhile is either returned, or not there at all.
  package func known(
    _ name: String, of uid: UInt32, in scope: PeerScope, through narrowing: Narrowing? = nil
  ) -> Known? {
    let now = clock.monotonicNow
    return state.withLock { state in
      Self.forget(&state, uid, now)
      guard let tasks = state.uids[uid] else { return nil }
      func find(_ level: String?) -> (task: Known, number: Int64)? {
        guard let known = tasks.known(Name(level: level, task: name)), scope.contains(resource: known.resource),
          narrowing?.covers(known.narrowing) ?? true
        else { return nil }
        return (known.task, known.number)
      }
      if let own = find(narrowing?.id) { return own.task }
      return tasks.levels.keys.compactMap(find).max {
        ($0.task.isRunning ? 1 : 0, $0.number) < ($1.task.isRunning ? 1 : 0, $1.number)
      }?.task
    }
  }

  /// The moment for a list that is read in pages: it has the tasks that there were then, in the order that they had.
  package var moment: Int64 { state.withLock { $0.lastNumber } }

  /// At most `count` of the tasks of `uid` behind `position` (0: from the first on) of the list as it was at `moment`:
  /// those that ran then, and those that had ended, the newest first.
  package func tasks(of uid: UInt32, at moment: Int64, after position: Int64, atMost count: Int) -> [Entry] {
    let now = clock.monotonicNow
    return state.withLock { state in
      Self.forget(&state, uid, now)
      guard let tasks = state.uids[uid] else { return [] }
      var names: [Name] = []
      let start = Position(position)
      if !start.isEnded {
        names = tasks.thoseThatRan(at: moment, before: min(start.number, moment + 1), atMost: count)
      }
      let isFull = names.count == count
      if !isFull {
        names += tasks.order.names(
          before: min(start.isEnded ? start.number : .max, moment + 1), atMost: count - names.count
        ) { !tasks.ran($0, at: moment) }.map(\.name)
      }
      return names.compactMap { name in
        tasks.known(name).map {
          Entry(
            task: $0.task, resource: $0.resource, narrowing: $0.narrowing,
            position: Position(number: $0.number, isEnded: !tasks.ran(name, at: moment)).value)
        }
      }
    }
  }

  /// A position in a list: it grows while the numbers, by which the newest come first, fall.
  private struct Position {
    private static let half = Int64.max / 2

    /// The number of the task there; the one before the first has the greatest.
    let number: Int64
    /// Whether it is one that had ended: those are behind the others.
    let isEnded: Bool

    init(number: Int64, isEnded: Bool) {
      self.number = number
      self.isEnded = isEnded
    }

    init(_ value: Int64) {
      isEnded = value > Self.half
      number = isEnded ? Int64.max - value : Self.half - value
    }

    var value: Int64 { (isEnded ? Int64.max : Self.half) - number }
  }

  /// Forgets what of one uid has ended long ago.
  private static func forget(_ state: inout State, _ uid: UInt32, _ now: MonotonicInstant) {
    guard state.uids[uid]?.ended.isEmpty == false else { return }
    state.change(uid) { tasks in tasks.forgetOld(at: now) }
  }

  /// Removes tasks that ended long ago of uids without connections, and those beyond the capacity.
  private static func sweep(_ state: inout State, _ now: MonotonicInstant) {
    if state.sweptAt.map({ now - $0 >= memory }) ?? true {
      state.sweptAt = now
      for uid in Array(state.uids.keys) { forget(&state, uid, now) }
    }
    while state.endedCount > capacity,
      let uid = state.uids.max(by: { $0.value.ended.count < $1.value.ended.count })?.key,
      state.change(uid, { $0.forgetOldest() })
    {}
  }
}

/// The facts about a task that lists show. Its texts are made when they are read: nearly no ended task is listed.
private struct TaskRecord: Sendable {
  private let identifier: String
  private let state: NetworkTask.State
  private let method: String
  private let url: HTTPURL?
  private let path: String
  private let startedAt: Timestamp
  private let progress: TransferControl.Progress

  init(_ task: NetworkTask) {
    identifier = task.identifier
    state = task.state
    method = Self.shortened(task.request.method, to: 32)
    url = task.url
    path = task.url == nil ? Self.shortened(task.request.path, to: 2048) : ""
    startedAt = task.startedAt
    progress = task.progress
  }

  /// The task as its owner sees it.
  var description: TaskDescription {
    TaskDescription(
      task: identifier, state: state, method: method.uppercasedASCII(),
      url: url.map { Self.shortened("\($0)", to: 2048) } ?? path, startedAt: startedAt.rfc3339,
      receivedBytes: progress.received, sentBytes: progress.sent)
  }

  /// Shortens a text: a request may have been rejected for its length, and its record must not be as long.
  private static func shortened(_ text: String, to bytes: Int) -> String {
    text.utf8.count <= bytes ? text : String(decoding: text.utf8.prefix(bytes), as: UTF8.self) + "…"
  }
}

extension TaskDescription {
  /// The task as its owner sees it.
  package init(_ task: NetworkTask) { self = TaskRecord(task).description }
}
