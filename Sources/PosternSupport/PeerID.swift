import Glibc

/// Identifies a peer's connection, for which work is done: the peer's uid and the connection's number. Not an OAuth
/// client identifier. What several peers share is divided by uid first, and by connection among those of one uid.
public struct PeerID: Sendable, Hashable {
  /// The uid.
  public let uid: UInt32
  /// The number of the connection, unique in this process.
  public let connection: UInt64

  /// An identifier of the given parts.
  public init(uid: UInt32, connection: UInt64) {
    self.uid = uid
    self.connection = connection
  }

  /// The process itself: what it does for all users, or of its own accord.
  public static let process = PeerID(uid: .max, connection: 0)

  /// The real uid of the process: what belongs to a uid belongs to it, where a Swift program names none.
  public static var ownUID: UInt32 { getuid() }
}

/// The peer whose call the running task carries out. Queues that are fair between uids read it.
public enum CurrentPeer {
  /// The uid of the call's peer; nil when the sidecar acts of its own accord.
  @TaskLocal public static var uid: UInt32?

  /// The executor of the call's connection, which is fair between uids, for what a call starts and what may outlive it.
  /// nil: the runtime's own threads, which work in order of arrival, so that one uid's work delays all others'.
  @TaskLocal public static var executor: (any TaskExecutor)?

  /// Starts a task for the running task's call, on the executor of its connection.
  @discardableResult
  public static func task<Value: Sendable>(_ body: @escaping @Sendable () async -> Value) -> Task<Value, Never> {
    Task(executorPreference: executor, operation: body)
  }
}

/// The call that the running task carries out, for the lines that it logs.
public enum CurrentCall {
  /// The names of a call in the log.
  public struct Label: Sendable, Hashable {
    /// Its trace, as in the error that it may end with.
    public let traceID: String
    /// Its RPC method.
    public let method: String

    /// A label of the given parts.
    public init(traceID: String, method: String) {
      self.traceID = traceID
      self.method = method
    }
  }

  /// The call's label; nil when the sidecar acts of its own accord. What several calls share has the label of the call
  /// that started it.
  @TaskLocal public static var label: Label?
}

extension PeerID: ConciseStringConvertible {
  /// Uid and connection.
  public var description: String { self == .process ? "this process" : "uid \(uid), connection \(connection)" }
}

extension CurrentCall.Label: ConciseStringConvertible {
  /// Method and trace.
  public var description: String { Concise.text(method, "trace \(traceID)") }
}
