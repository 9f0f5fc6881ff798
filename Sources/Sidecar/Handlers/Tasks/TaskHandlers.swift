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
    if let task = tasks.running(params.task, of: context.owner) {
      action(task)
      return TaskDescription(task)
    }
    guard let description = tasks.description(params.task, of: context.owner) else {
      throw RPCFault(.taskNotFound, data: ["path": "/task"])
    }
    return description
  }
}
