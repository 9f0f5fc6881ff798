package import AuthEngine
import HTTPMessages
package import PosternProtocol
package import PosternSupport
package import SidecarAccess

/// The tasks of `fetchResource`, per uid: those that run, and for a minute those that have ended.
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
    /// Tasks are numbered as they begin; a task keeps its number when it ends.
    package let number: Int64
  }

  private struct Running {
    let task: NetworkTask
    let resource: String
    let narrowing: Narrowing?
  }

  /// The record of a task that has ended, without request and response.
  private struct Ended {
    let record: TaskRecord
    let resource: String
    let narrowing: Narrowing?
    let at: MonotonicInstant
  }

  /// The tasks of one uid. A class, behind the registry's lock: each fetch changes it twice.
  private final class UIDTasks: @unchecked Sendable {
    // Sendable because it is used behind the registry's lock only.
    var running: [String: Running] = [:]
    var ended: [String: Ended] = [:]
    /// All of them as they began.
    var order = ArrivalOrder<String>()
    /// The tasks that have ended, in that order.
    var endings = ArrivalOrder<String>()

    func known(_ name: String) -> (task: Known, resource: String, narrowing: Narrowing?)? {
      if let running = running[name] { return (.running(running.task), running.resource, running.narrowing) }
      return ended[name].map { (.ended($0.record.description), $0.resource, $0.narrowing) }
    }

    func forget(_ name: String) {
      guard ended.removeValue(forKey: name) != nil else { return }
      endings.remove(name)
      order.remove(name)
    }

    /// Forgets the one that ended first; false when there is none, or `now` is too early.
    func forgetOldest(at now: MonotonicInstant? = nil) -> Bool {
      guard let name = endings.first()?.name, let oldest = ended[name],
        now.map({ oldest.at + TaskRegistry.memory <= $0 }) ?? true
      else { return false }
      forget(name)
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
  /// How many tasks that have ended are kept at most: beyond that the oldest of the uid with the most are removed.
  package static let capacity = 4096

  private let state = Locked(State())
  private let clock: any EngineClock

  package init(clock: any EngineClock) { self.clock = clock }

  /// Notes a task for a resource down, which was begun through a chain; false when one of that name runs.
  package func begin(
    _ task: NetworkTask, for resource: String, of uid: UInt32, through narrowing: Narrowing? = nil
  ) -> Bool {
    state.withLock { state in
      let number = state.takeNumber()
      return state.change(uid) { tasks in
        guard tasks.running[task.identifier] == nil else { return false }
        tasks.forget(task.identifier)
        tasks.running[task.identifier] = Running(task: task, resource: resource, narrowing: narrowing)
        tasks.order.add(task.identifier, number: number)
        return true
      }
    }
  }

  /// The task has ended.
  package func end(_ task: NetworkTask, of uid: UInt32) {
    let name = task.identifier
    let record = TaskRecord(task)
    let now = clock.monotonicNow
    state.withLock { state in
      let number = state.takeNumber()
      state.change(uid) { tasks in
        guard let running = tasks.running[name], running.task === task else { return }
        tasks.running[name] = nil
        tasks.ended[name] = Ended(
          record: record, resource: running.resource, narrowing: running.narrowing, at: now)
        tasks.endings.add(name, number: number)
      }
      Self.forget(&state, uid, now)
      Self.sweep(&state, now)
    }
  }

  /// The running task of that name; nil when it is none.
  package func running(_ name: String, of uid: UInt32) -> NetworkTask? {
    state.withLock { $0.uids[uid]?.running[name]?.task }
  }

  /// The task of that name; nil when there is none, or it is for a resource outside of `scope`, or was not begun
  /// through `narrowing` where that is given. Behind one lock: a task
  /// that starts meanwhile is either returned, or not there at all.
  package func known(
    _ name: String, of uid: UInt32, in scope: PeerScope, through narrowing: Narrowing? = nil
  ) -> Known? {
    let now = clock.monotonicNow
    return state.withLock { state in
      Self.forget(&state, uid, now)
      guard let known = state.uids[uid]?.known(name), scope.contains(resource: known.resource),
        narrowing?.covers(known.narrowing) ?? true
      else { return nil }
      return known.task
    }
  }

  /// At most `count` of the tasks of `uid` that began after the one of that number (0: from the first on), as they
  /// began.
  package func tasks(of uid: UInt32, after number: Int64, atMost count: Int) -> [Entry] {
    let now = clock.monotonicNow
    return state.withLock { state in
      Self.forget(&state, uid, now)
      guard let tasks = state.uids[uid] else { return [] }
      return tasks.order.names(after: number, atMost: count).compactMap { entry in
        tasks.known(entry.name).map {
          Entry(task: $0.task, resource: $0.resource, narrowing: $0.narrowing, number: entry.number)
        }
      }
    }
  }

  /// Forgets what of one uid has ended long ago.
  private static func forget(_ state: inout State, _ uid: UInt32, _ now: MonotonicInstant) {
    guard state.uids[uid]?.ended.isEmpty == false else { return }
    state.change(uid) { tasks in while tasks.forgetOldest(at: now) {} }
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
      task: identifier, state: TaskDescription.State(state), method: method.uppercasedASCII(),
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

extension TaskDescription.State {
  fileprivate init(_ state: NetworkTask.State) {
    self =
      switch state {
      case .running: .running
      case .suspended: .suspended
      case .cancelled: .cancelled
      case .completed: .completed
      }
  }
}
