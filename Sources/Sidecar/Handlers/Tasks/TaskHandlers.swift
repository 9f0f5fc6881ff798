import AuthEngine
import JSON
import JSONRPC
import Protocol

/// `getTask`, `listTasks`, `suspendTask`, `resumeTask`, `cancelTask`.
struct TaskHandlers: Sendable {
  let tasks: TaskRegistry

  func list(_ params: ListTasks.Params, _ context: CallContext) -> ListTasks.Result {
    ListTasks.Result(tasks: tasks.descriptions(of: context.owner))
  }

  /// Does something with the task, if it still runs, and shows it then.
  func act(
    on params: TaskName, _ context: CallContext, _ action: (NetworkTask) -> Void = { _ in }
  ) throws(RPCFault) -> TaskDescription {
    switch tasks.known(params.task, of: context.owner) {
    case .running(let task):
      action(task)
      return TaskDescription(task)
    case .ended(let description): return description
    case nil: throw RPCFault(.taskNotFound, data: ["path": "/task"])
    }
  }
}
