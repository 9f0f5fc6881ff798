/// Takes pieces of work of one connection and does them in the connection's turn, on a thread that serves connections.
public protocol WorkPoster: AnyObject, Sendable {
  /// Has `work` done once; from any thread.
  func post(_ work: any PostedWork)
}

/// A piece of work that a `WorkPoster` does.
public protocol PostedWork: AnyObject, Sendable {
  /// Does it. Must not block.
  func runPosted()
}
