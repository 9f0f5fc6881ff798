/// For whose call the running task works: what is done in turns of users knows by it whose turn it is.
public enum Requesting {
  /// The user id of the call's peer; nil: the sidecar does something by itself.
  @TaskLocal public static var uid: UInt32?

  /// Runs what a call starts and what may outlive it, in turns of users. nil: on the runtime's own threads, first come,
  /// first served, where one user's work would stand before everybody's.
  @TaskLocal public static var executor: (any TaskExecutor)?

  /// Starts a task for the call of the running one, in the turns of its user.
  @discardableResult
  public static func task<Value: Sendable>(_ body: @escaping @Sendable () async -> Value) -> Task<Value, Never> {
    Task(executorPreference: executor, operation: body)
  }
}
