import Glibc
import PosternSupport

/// Frees a loop whose thread does not come back from libcurl: over HTTP/2 libcurl 7.88 goes on reading for as long as a
/// server sends frames, whatever they are, and no deadline is looked at. The thread's connections are shut down, all of
/// them: which one it reads nobody can tell.
struct LoopWatch {
  private let inbox: Inbox
  private let connections: ConnectionCount
  private let patience: Duration
  private var seen: UInt64?
  private var since = MonotonicInstant(nanoseconds: 0)

  /// Watches the loop of `inbox`, which may be at work without a new turn for `patience`.
  init(_ inbox: Inbox, _ connections: ConnectionCount, patience: Duration) {
    self.inbox = inbox
    self.connections = connections
    self.patience = patience
  }

  /// Runs a thread of its own until the loop has ended. `report` is told on it each time connections were shut down.
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

  /// Shuts the connections down if the loop has been in the same turn for too long; whether it did.
  mutating func look(at now: MonotonicInstant) -> Bool {
    let turn = inbox.turnAtWork
    if turn == nil || turn != seen {
      seen = turn
      since = now
    }
    guard turn != nil, now - since >= patience else { return false }
    connections.shutDownAll()
    inbox.noteStall()
    since = now
    return true
  }
}
