import AuthEngine
import PosternJSON
import PosternJSONRPC
import PosternProtocol
import PosternSupport

/// `getTask`, `listTasks`, `suspendTask`, `resumeTask`, `cancelTask`.
struct TaskHandlers: Sendable {
  /// How many tasks are described at a time; between the pieces other calls run.
  private static let pieceSize = 32

  let tasks: TaskRegistry
  let lists: ListAnswers

  func list(
    _ params: ListTasks.Params, _ context: CallContext
  ) async throws(RPCFault) -> Written<ListTasks.Result> {
    try await lists.page(params.page, context) { (start, page) async throws(RPCFault) in
      var position = start
      if page.moment == 0 { page.moment = tasks.moment }
      while true {
        let piece = tasks.tasks(of: context.uid, at: page.moment, after: position, atMost: Self.pieceSize)
        for entry in piece {
          position = entry.position
          guard context.runtime.scope.contains(resource: entry.resource), context.sees(begunThrough: entry.narrowing)
          else { continue }
          let task = entry.task.description
          guard params.state == nil || params.state == task.state else { continue }
          guard page.add(task, at: entry.position) else { return }
        }
        guard piece.count == Self.pieceSize else { return }
        guard !Task.isCancelled else { throw RPCFault(.requestCancelled) }
        await Task.yield()
      }
    }
  }

  /// Does something with the task, if it still runs, and shows it then.
  func act(
    on params: TaskName, _ context: CallContext, _ action: (NetworkTask) -> Void = { _ in }
  ) throws(RPCFault) -> TaskDescription {
    let scope = context.runtime.scope
    guard let known = tasks.known(params.task, of: context.uid, in: scope, through: context.narrowing) else {
      throw RPCFault(.taskNotFound, path: "/task")
    }
    if case .running(let task) = known { action(task) }
    return known.description
  }
}
