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

  /// A task in the registry, to be given back when it ends. An object without an entry in a dictionary: each fetch
  /// makes one.
  package final class Registered: @unchecked Sendable {
    // Sendable because what changes is used behind the registry's lock only.
    fileprivate enum Contents {
      case running(NetworkTask)
      case ended(TaskRecord, at: MonotonicInstant)
      case forgotten
    }

    fileprivate let name: String
    fileprivate let hash: Int
    fileprivate let resource: String
    fileprivate let narrowing: Narrowing?
    /// The level that it was begun through. The levels of a chain have names of their own.
    fileprivate let level: Level
    fileprivate unowned let owner: UIDTasks
    /// The number that it began with.
    fileprivate let number: Int64
    fileprivate var contents: Contents
    /// The number that it ended with, greater than all others while it runs.
    fileprivate var endNumber = Int64.max
    /// The next task in a chain of `TaskNames`.
    fileprivate var next: Registered?

    fileprivate init(
      _ task: NetworkTask, hash: Int, resource: String, _ narrowing: Narrowing?, _ level: Level, of owner: UIDTasks,
      number: Int64
    ) {
      name = task.identifier
      self.hash = hash
      self.resource = resource
      self.narrowing = narrowing
      self.level = level
      self.owner = owner
      self.number = number
      contents = .running(task)
    }

    fileprivate var isRunning: Bool { if case .running = contents { true } else { false } }
    fileprivate var isForgotten: Bool { if case .forgotten = contents { true } else { false } }

    /// The task as others see it; nil when it has been forgotten.
    fileprivate var known: Known? {
      switch contents {
      case .running(let task): .running(task)
      case .ended(let record, _): .ended(record.description)
      case .forgotten: nil
      }
    }

    /// Whether it ran when `moment` was the last number that was taken.
    fileprivate func ran(at moment: Int64) -> Bool { endNumber > moment }
  }

  /// The tasks of one uid that were begun through one level.
  fileprivate final class Level {
    /// Nil: of those that were begun through none.
    let id: String?
    /// Part of the hash of each name.
    let salt: Int
    /// How many there are.
    var count = 0
    var ended = Arrivals()

    init(_ id: String?) {
      self.id = id
      salt = id.hashValue
    }
  }

  /// The tasks of one uid. A class, behind the registry's lock: each fetch changes it twice.
  fileprivate final class UIDTasks: @unchecked Sendable {
    // Sendable because it is used behind the registry's lock only.
    /// All of them as they began.
    var order = Arrivals()
    /// Those that have ended, in that order.
    var ended = Arrivals()
    private var names = TaskNames()
    private let outside = Level(nil)
    private var levels: [String: Level] = [:]

    /// The levels that have tasks, and that of the tasks of none.
    var allLevels: [Level] { [outside] + levels.values }

    func level(_ id: String?) -> Level? {
      guard let id else { return outside }
      return levels[id]
    }

    func find(_ name: String, at level: Level) -> Registered? { names.find(name, Self.hash(name, level), level) }

    private static func hash(_ name: String, _ level: Level) -> Int { name.hashValue ^ level.salt }

    private func madeLevel(_ id: String?) -> Level {
      if let level = level(id) { return level }
      let level = Level(id)
      if let id { levels[id] = level }
      return level
    }

    /// Notes a task down; nil when one of its name runs at its level.
    func begin(_ task: NetworkTask, for resource: String, _ narrowing: Narrowing?, number: Int64) -> Registered? {
      var level = madeLevel(narrowing?.id)
      let hash = Self.hash(task.identifier, level)
      if let other = names.find(task.identifier, hash, level) {
        guard !other.isRunning else { return nil }
        forget(other)
        level = madeLevel(narrowing?.id)
      }
      let registered = Registered(
        task, hash: hash, resource: resource, narrowing, level, of: self, number: number)
      order.add(registered)
      names.add(registered)
      level.count += 1
      return registered
    }

    func end(_ task: Registered, as record: TaskRecord, number: Int64, at now: MonotonicInstant) {
      task.contents = .ended(record, at: now)
      task.endNumber = number
      ended.add(task)
      task.level.ended.add(task)
    }

    /// Forgets a task that has ended.
    private func forget(_ task: Registered) {
      names.remove(task)
      task.contents = .forgotten
      order.forgotOne()
      ended.forgotOne()
      task.level.ended.forgotOne()
      task.level.count -= 1
      if task.level.count == 0, let id = task.level.id { levels[id] = nil }
    }

    /// Forgets those that had ended a while before `now`.
    func forgetOld(at now: MonotonicInstant) {
      while let oldest = ended.first(), case .ended(_, let end) = oldest.contents, end + TaskRegistry.memory <= now {
        forget(oldest)
      }
    }

    /// Forgets the one that ended first of the level with the most; false when there is none.
    func forgetOldest() -> Bool {
      var most = outside
      for level in levels.values where level.ended.count > most.ended.count { most = level }
      guard let oldest = most.ended.first() else { return false }
      forget(oldest)
      return true
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

    mutating func tasks(of uid: UInt32) -> UIDTasks {
      if let tasks = uids[uid] { return tasks }
      let tasks = UIDTasks()
      uids[uid] = tasks
      return tasks
    }

    /// Changes the tasks of one uid.
    mutating func change<Result>(_ tasks: UIDTasks, _ body: (UIDTasks) -> Result) -> Result {
      let before = tasks.ended.count
      let result = body(tasks)
      endedCount += tasks.ended.count - before
      return result
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

  /// Notes a task for a resource down, which was begun through a chain; nil when one of that name runs at its last
  /// level. `end` must follow.
  package func begin(
    _ task: NetworkTask, for resource: String, of uid: UInt32, through narrowing: Narrowing? = nil
  ) -> Registered? {
    state.withLock { state in
      let number = state.takeNumber()
      return state.change(state.tasks(of: uid)) { $0.begin(task, for: resource, narrowing, number: number) }
    }
  }

  /// The task has ended.
  package func end(_ registered: Registered) {
    // Nobody else ends it: this is read without the lock.
    guard case .running(let task) = registered.contents else { return }
    let record = TaskRecord(task)
    let now = clock.monotonicNow
    // What the task still holds is not released behind the lock.
    withExtendedLifetime(task) {
      state.withLock { state in
        let number = state.takeNumber()
        state.change(registered.owner) { tasks in
          tasks.end(registered, as: record, number: number, at: now)
          tasks.forgetOld(at: now)
        }
        Self.sweep(&state, now)
      }
    }
  }

  /// Whether a task of that name runs at that level.
  package func isRunning(_ name: String, of uid: UInt32, through narrowing: Narrowing?) -> Bool {
    state.withLock { state in
      guard let tasks = state.uids[uid], let level = tasks.level(narrowing?.id) else { return false }
      return tasks.find(name, at: level)?.isRunning ?? false
    }
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
      func find(_ level: Level) -> Registered? {
        guard let task = tasks.find(name, at: level), scope.contains(resource: task.resource),
          narrowing?.covers(task.narrowing) ?? true
        else { return nil }
        return task
      }
      if let own = tasks.level(narrowing?.id).flatMap(find) { return own.known }
      return tasks.allLevels.compactMap(find).max {
        ($0.isRunning ? 1 : 0, $0.number) < ($1.isRunning ? 1 : 0, $1.number)
      }?.known
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
      var found: [Registered] = []
      let start = Position(position)
      if !start.isEnded {
        found = tasks.order.newest(before: min(start.number, moment + 1), atMost: count) { $0.ran(at: moment) }
      }
      if found.count < count {
        found += tasks.order.newest(
          before: min(start.isEnded ? start.number : .max, moment + 1), atMost: count - found.count
        ) { !$0.ran(at: moment) }
      }
      return found.compactMap { task in
        task.known.map {
          Entry(
            task: $0, resource: task.resource, narrowing: task.narrowing,
            position: Position(number: task.number, isEnded: !task.ran(at: moment)).value)
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
    guard let tasks = state.uids[uid] else { return }
    state.change(tasks) { $0.forgetOld(at: now) }
    if tasks.order.isEmpty { state.uids[uid] = nil }
  }

  /// Removes tasks that ended long ago of uids without connections, and those beyond the capacity.
  private static func sweep(_ state: inout State, _ now: MonotonicInstant) {
    if state.sweptAt.map({ now - $0 >= memory }) ?? true {
      state.sweptAt = now
      for uid in Array(state.uids.keys) { forget(&state, uid, now) }
    }
    while state.endedCount > capacity,
      let (uid, tasks) = state.uids.max(by: { $0.value.ended.count < $1.value.ended.count }),
      state.change(tasks, { $0.forgetOldest() })
    {
      if tasks.order.isEmpty { state.uids[uid] = nil }
    }
  }
}

/// Tasks in the order of their numbers, which pages of lists go by. Those that were forgotten stay until they are too
/// many: nothing is searched for one that leaves.
private struct Arrivals {
  /// How many that were forgotten are kept, in addition to as many as there are others.
  private static let slack = 64

  private var tasks: [TaskRegistry.Registered] = []
  /// Those before this index have all been forgotten.
  private var head = 0
  /// How many have not been forgotten.
  private(set) var count = 0

  var isEmpty: Bool { count == 0 }

  /// Adds a task, whose number is greater than all before.
  mutating func add(_ task: TaskRegistry.Registered) {
    tasks.append(task)
    count += 1
  }

  /// One of them has been forgotten.
  mutating func forgotOne() {
    count -= 1
    guard tasks.count > 2 * count + Self.slack else { return }
    tasks.removeAll { $0.isForgotten }
    head = 0
  }

  /// The one that has been here for longest.
  mutating func first() -> TaskRegistry.Registered? {
    while head < tasks.count {
      if !tasks[head].isForgotten { return tasks[head] }
      head += 1
    }
    return nil
  }

  /// At most `count` that began before `number` and fulfil `condition`, the last first.
  func newest(
    before number: Int64, atMost count: Int, where condition: (TaskRegistry.Registered) -> Bool
  ) -> [TaskRegistry.Registered] {
    var found: [TaskRegistry.Registered] = []
    var index = end(before: number)
    while index > head, found.count < count {
      index -= 1
      if !tasks[index].isForgotten, condition(tasks[index]) { found.append(tasks[index]) }
    }
    return found
  }

  /// The index behind the last that began before `number`.
  private func end(before number: Int64) -> Int {
    var (low, high) = (head, tasks.count)
    while low < high {
      let middle = low + (high - low) / 2
      if tasks[middle].number < number { low = middle + 1 } else { high = middle }
    }
    return low
  }
}

/// Finds the tasks of a uid by level and name. The tasks are its chains themselves: one more needs no memory.
private struct TaskNames {
  private var chains: [TaskRegistry.Registered?] = Array(repeating: nil, count: 16)
  private var count = 0

  private func index(_ hash: Int) -> Int { hash & (chains.count - 1) }

  func find(_ name: String, _ hash: Int, _ level: TaskRegistry.Level) -> TaskRegistry.Registered? {
    var next = chains[index(hash)]
    while let task = next {
      if task.hash == hash, task.level === level, task.name == name { return task }
      next = task.next
    }
    return nil
  }

  /// Adds a task, whose name at its level no other has.
  mutating func add(_ task: TaskRegistry.Registered) {
    if count == chains.count { grow() }
    link(task)
    count += 1
  }

  mutating func remove(_ task: TaskRegistry.Registered) {
    if chains[index(task.hash)] === task {
      chains[index(task.hash)] = task.next
    } else {
      var before = chains[index(task.hash)]
      while let other = before, other.next !== task { before = other.next }
      before?.next = task.next
    }
    task.next = nil
    count -= 1
  }

  private mutating func link(_ task: TaskRegistry.Registered) {
    task.next = chains[index(task.hash)]
    chains[index(task.hash)] = task
  }

  private mutating func grow() {
    let before = chains
    chains = Array(repeating: nil, count: 2 * before.count)
    for first in before {
      var next = first
      while let task = next {
        next = task.next
        link(task)
      }
    }
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
