import CPosternCurl
import PosternSupport

/// The thread named `postern-curl`: started once, joined at most once.
///
/// It takes no signal, as no `SystemThread` does: a broken pipe only ever shows as an error code.
final class LoopThread: Sendable {
  private let handle: Locked<SystemThread.Handle?>

  init(
    inbox: Inbox, multi: MultiHandle, configuration: CurlTransport.Configuration
  ) throws(CurlTransport.StartError) {
    let connections = ConnectionCount(multi)
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
