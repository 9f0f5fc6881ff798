import Protocol

/// How the transports fare.
public struct TransportState: Sendable {
  /// Why exchanges cannot be set up; nil when they can.
  public var problem: String?
  /// Connections given up because something had come over them before a request was sent.
  public var connectionsDiscarded: Int
  /// Handles thrown away because the library rejected an option.
  public var handlesRejected: Int

  /// A state of those parts.
  public init(problem: String? = nil, connectionsDiscarded: Int = 0, handlesRejected: Int = 0) {
    self.problem = problem
    self.connectionsDiscarded = connectionsDiscarded
    self.handlesRejected = handlesRejected
  }

  /// The check of `health`; nil when nothing is wrong.
  var fault: Health.Check? { problem.map { Health.Check(status: .degraded, detail: $0) } }
}
