import AuthEngine
import HTTPMessages
import Protocol
import Support

/// The tasks of `fetchResource`, per uid: those that run, and for a minute those that have ended.
final class TaskRegistry: Sendable {
  private struct Key: Hashable {
    let uid: UInt32
    let name: String
  }

  /// What is left of a task that has ended: no request, no response.
  private struct Ended {
    let description: TaskDescription
    let at: MonotonicInstant
    let number: UInt64
  }

  /// A task that there is, or was.
  enum Known {
    /// One that runs.
    case running(NetworkTask)
    /// One that has ended.
    case ended(TaskDescription)
  }

  private struct State {
    var running: [Key: NetworkTask] = [:]
    var ended: [Key: Ended] = [:]
    /// Those that have ended, the oldest first; a name that was used again stands in it twice.
    var order: [(key: Key, number: UInt64)] = []
    var first = 0
    var lastNumber: UInt64 = 0
  }

  /// How long a task is known after its end.
  static let memory = Duration.seconds(60)
  /// How many that have ended are known at most: beyond it the oldest are forgotten earlier.
  static let capacity = 4096

  private let state = Locked(State())
  private let clock: any EngineClock

  init(clock: any EngineClock) { self.clock = clock }

  /// Notes a task down; false when one of that name runs.
  func begin(_ task: NetworkTask, of uid: UInt32) -> Bool {
    let key = Key(uid: uid, name: task.identifier)
    return state.withLock { state in
      guard state.running[key] == nil else { return false }
      state.running[key] = task
      state.ended[key] = nil
      return true
    }
  }

  /// The task has ended.
  func end(_ task: NetworkTask, of uid: UInt32) {
    let key = Key(uid: uid, name: task.identifier)
    let description = TaskDescription(task)
    let now = clock.monotonicNow
    state.withLock { state in
      guard state.running[key] === task else { return }
      state.running[key] = nil
      state.lastNumber += 1
      state.ended[key] = Ended(description: description, at: now, number: state.lastNumber)
      state.order.append((key, state.lastNumber))
      Self.forget(&state, now)
    }
  }

  /// The running task of that name; nil when it is none.
  func running(_ name: String, of uid: UInt32) -> NetworkTask? {
    state.withLock { $0.running[Key(uid: uid, name: name)] }
  }

  /// What is known of the task of that name; nil when nothing is. One look: a task that begins meanwhile is either there to be acted
  /// upon, or not there at all.
  func known(_ name: String, of uid: UInt32) -> Known? {
    let now = clock.monotonicNow
    return state.withLock { state in
      Self.forget(&state, now)
      let key = Key(uid: uid, name: name)
      return state.running[key].map(Known.running) ?? (state.ended[key]?.description).map(Known.ended)
    }
  }

  /// All tasks of `uid` that are known, the oldest first.
  func descriptions(of uid: UInt32) -> [TaskDescription] {
    let now = clock.monotonicNow
    let (tasks, ended) = state.withLock { state in
      Self.forget(&state, now)
      return (
        state.running.filter { $0.key.uid == uid }.map(\.value),
        state.ended.filter { $0.key.uid == uid }.map(\.value.description)
      )
    }
    return (tasks.map(TaskDescription.init) + ended).sorted { ($0.startedAt, $0.task) < ($1.startedAt, $1.task) }
  }

  private static func forget(_ state: inout State, _ now: MonotonicInstant) {
    while state.first < state.order.count {
      let (key, number) = state.order[state.first]
      if let ended = state.ended[key], ended.number == number {
        guard state.order.count - state.first > capacity || ended.at + memory <= now else { break }
        state.ended[key] = nil
      }
      state.first += 1
    }
    if state.first > capacity {
      state.order.removeFirst(state.first)
      state.first = 0
    }
  }
}

extension TaskDescription {
  /// The task as its owner sees it.
  init(_ task: NetworkTask) {
    let progress = task.progress
    self.init(
      task: task.identifier, state: State(rawValue: task.state.rawValue) ?? .running,
      method: Self.shortened(task.request.method, to: 32).uppercased(),
      url: Self.shortened(task.url.map { "\($0)" } ?? task.request.path, to: 2048),
      startedAt: task.startedAt.rfc3339, receivedBytes: progress.received, sentBytes: progress.sent)
  }

  /// A request may have been refused for its length: what is kept of it for a minute must not be as long.
  private static func shortened(_ text: String, to bytes: Int) -> String {
    text.utf8.count <= bytes ? text : String(decoding: text.utf8.prefix(bytes), as: UTF8.self) + "…"
  }
}
