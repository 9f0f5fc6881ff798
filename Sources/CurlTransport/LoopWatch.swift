import Glibc
import PosternSupport

/// Frees a loop whose thread does not come back from libcurl: over HTTP/2 libcurl 7.88 goes on reading for as long as a
/// server sends frames, whatever they are, and no deadline is looked at. The thread's connections are shut down, all of
/// them, since there is no way to know which one it reads.
struct LoopWatch {
  private let inbox: Inbox
  private let connections: ConnectionCount
  private let patience: Duration
  private var seen: UInt64?
  private var since = MonotonicInstant(nanoseconds: 0)

  /// Watches the loop of `inbox`, which may stay in one iteration for `patience`.
  init(_ inbox: Inbox, _ connections: ConnectionCount, patience: Duration) {
    self.inbox = inbox
    self.connections = connections
    self.patience = patience
  }

  /// Runs a thread of its own until the loop has ended. `report` is called on it each time connections were shut down.
  static func start(
    _ inbox: Inbox, _ connections: ConnectionCount, patience: Duration, report: (@Sendable () -> Void)?
  ) throws(SystemThread.StartError) {
    let pause = UInt32(clamping: max(1, patience.wholeMilliseconds / 4) * 1000)
    try SystemThread.start("postern-watch") {
      let clock = SystemClock()
      var watch = LoopWatch(inbox, connections, patience: patience)
      while !inbox.hasEnded {
        if watch.look(at: clock.monotonicNow) { report?() }
        usleep(pause)
      }
    }
  }

  /// Shuts the connections down if the loop has been in the same iteration for too long; whether it did.
  mutating func look(at now: MonotonicInstant) -> Bool {
    let iteration = inbox.currentIteration
    if iteration == nil || iteration != seen {
      seen = iteration
      since = now
    }
    guard iteration != nil, now - since >= patience else { return false }
    connections.shutDownAll()
    inbox.noteStall()
    since = now
    return true
  }
}
