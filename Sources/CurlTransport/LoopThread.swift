import CPosternCurl
import Glibc
import HTTPMessages
import PosternSupport

/// The thread named `postern-curl`: started once, joined at most once.
///
/// It takes no signal, as no `SystemThread` does: a broken pipe only ever shows as an error code.
final class LoopThread: Sendable {
  private let handle: Locked<SystemThread.Handle?>

  init(
    inbox: Inbox, multi: MultiHandle, configuration: CurlTransport.Configuration
  ) throws(CurlTransport.StartError) {
    let connections = ConnectionCount(multi, maxKept: max(1, configuration.maxConnectionsPerHost))
    do throws(SystemThread.StartError) {
      // First: without the loop it ends by itself.
      if let patience = configuration.longestIteration {
        try LoopWatch.start(inbox, connections, patience: patience, report: configuration.stallReport)
      }
      handle = Locked(
        try SystemThread.startJoinable("postern-curl") {
          TransferLoop(inbox: inbox, multi: multi, connections: connections, configuration: configuration).run()
        })
    } catch {
      inbox.end(publishing: CurlTransport.Statistics())
      multi.cleanUp()
      throw CurlTransport.StartError("no thread for the transport: \(error)")
    }
  }

  /// Waits for the end of the thread; a second caller waits as long as the first. An executor that runs tasks where
  /// they are resumed can bring a caller onto the loop's own thread: it does not wait.
  func join() {
    handle.withLock { handle in
      handle?.join()
      handle = nil
    }
  }

  /// Lets the thread end by itself.
  func abandon() {
    handle.withLock { handle in
      handle?.detach()
      handle = nil
    }
  }
}

/// The parts of a loop that all its transfers share.
struct LoopResources {
  let connections: ConnectionCount
  let libcurlDecodings = LibcurlDecodings()
  let receiveQueue = ReceiveQueue()
  let keptBodies = KeptBodies()
  let sessions = TLSSessions()
  let files: TrustFiles
  /// The clock of the deadlines.
  let clock: any EngineClock
  /// The clock of everything that libcurl measures, too.
  let uptime = SystemClock()

  init(_ configuration: CurlTransport.Configuration, connections: ConnectionCount) {
    self.connections = connections
    files = TrustFiles(report: configuration.fileReport)
    clock = configuration.clock
  }
}

/// The TLS sessions of all easy handles of a loop.
final class TLSSessions {
  /// Nil without memory: nothing is resumed then.
  let pointer = postern_curl_share_sessions()

  deinit { curl_share_cleanup(pointer) }
}

/// The streams with content codings that libcurl undoes, one of each uid: for a stream that is paused libcurl keeps up
/// to 64 MiB of what its reader has not taken. Owned by the loop.
final class LibcurlDecodings {
  private var uids: Set<UInt32> = []

  /// A stream of `uid` begins; false when there is one.
  func insert(_ uid: UInt32) -> Bool { uids.insert(uid).inserted }

  /// The stream of `uid` is over.
  func remove(_ uid: UInt32) { uids.remove(uid) }
}

/// The streams of which an iteration of the loop has received something: their readers are woken at its end, once for
/// all pieces. Owned by the loop.
final class KeptBodies {
  private var controls: [TransferControl] = []

  /// Something was kept in `control`.
  func add(_ control: TransferControl) {
    if controls.last !== control { controls.append(control) }
  }

  /// The exchange of `control` has ended: whoever has its response looks for what is left.
  func remove(_ control: TransferControl) {
    guard !controls.isEmpty else { return }
    controls.removeAll { $0 === control }
  }

  /// Wakes the readers.
  func handOn() {
    guard !controls.isEmpty else { return }
    for control in controls { control.handOn() }
    controls.removeAll(keepingCapacity: true)
  }
}

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
