import PosternJSON
import PosternJSONRPC
import PosternProtocol
import PosternSupport

/// A request of the sidecar to the calling connection, which has only so long to answer (wire.md section 6).
enum DelegateQuestion {
  /// The answer; nil when it comes late, is an error, or never comes because the connection is gone. `deadline` is the
  /// call's own.
  static func ask(
    _ conversation: JSONRPCConnection, _ method: DelegateMethod, _ params: JSONObject, within patience: Duration,
    by deadline: Deadline, _ clock: any EngineClock
  ) async -> JSONValue? {
    let request = JSONValue.object(params)
    let patience = min(patience, deadline.remaining(on: clock) ?? patience)
    return await withTaskGroup(of: JSONValue?.self) { group in
      group.addTask { try? await conversation.request(method.rawValue, request) }
      group.addTask {
        try? await clock.sleep(for: patience)
        return nil
      }
      defer { group.cancelAll() }
      return await group.next() ?? nil
    }
  }
}
