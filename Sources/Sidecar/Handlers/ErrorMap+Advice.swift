import AuthEngine
import PosternJSON
import PosternJSONRPC
import PosternProtocol
import PosternSupport

extension ErrorMap {
  /// A fetch's error, with where it stopped when that was at an advice.
  static func fault(_ error: ResourceError, task: String, wait: Duration?, at now: Timestamp) -> RPCFault {
    var fault = fault(error)
    guard let stop = error.stop else { return fault }
    fault.data["advice"] = stop.first.flatMap { PolicyAdviceDescription($0).json }
    fault.data["advices"] = .array(stop.advices.compactMap { PolicyAdviceDescription($0).json })
    fault.data["response"] = stop.response.map { FetchResult.text($0, task: task).value }
    if error.code == .adviceRequired, let continuation = stop.continuation, let wait {
      fault.data["continuation"] = .string(continuation)
      fault.data["expiresAt"] = .string((now + wait).rfc3339)
    }
    return fault
  }
}
