package import PosternJSON
package import PosternJSONRPC
package import PosternProtocol
package import PosternSupport

/// A request of the sidecar to the calling connection, which has only so long to answer (wire.md section 6).
package enum DelegateQuestion {
  /// The answer; nil when it comes late, is an error, or never comes because the connection is gone. `deadline` is the
  /// call's own.
  package static func ask(
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
