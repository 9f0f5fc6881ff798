import CCurl
import Glibc
import Support

/// The thread named `postern-curl`: started once, joined at most once.
///
/// It takes no signal: those of the process go to its other threads, and a broken pipe only ever shows as an error
/// code.
final class LoopThread: Sendable {
  private let handle: Locked<pthread_t?>

  init(
    inbox: Inbox, multi: MultiHandle, configuration: CurlTransport.Configuration
  ) throws(CurlTransport.StartError) {
    let start = Unmanaged.passRetained(Start(inbox: inbox, multi: multi, configuration: configuration))
    var thread = pthread_t()
    let code = Self.withoutSignals {
      pthread_create(
        &thread, nil,
        { argument in
          postern_curl_name_thread("postern-curl")
          guard let argument else { return nil }
          let start = Unmanaged<Start>.fromOpaque(argument).takeRetainedValue()
          TransferLoop(inbox: start.inbox, multi: start.multi, configuration: start.configuration).run()
          return nil
        }, start.toOpaque())
    }
    guard code == 0 else {
      start.release()
      multi.cleanUp()
      throw CurlTransport.StartError("no thread for the transport: \(String(cString: strerror(code)))")
    }
    handle = Locked(thread)
  }

  /// Waits for the end of the thread; a second caller waits as long as the first.
  func join() {
    handle.withLock { handle in
      guard let thread = handle else { return }
      handle = nil
      // An executor that runs tasks where they are resumed can bring a caller onto the loop's own thread: it cannot
      // wait for itself.
      if pthread_equal(thread, pthread_self()) != 0 { pthread_detach(thread) } else { pthread_join(thread, nil) }
    }
  }

  /// Lets the thread end by itself.
  func abandon() {
    handle.withLock { handle in
      if let thread = handle { pthread_detach(thread) }
      handle = nil
    }
  }

  /// New threads inherit the mask, libcurl's resolver threads too. Faults of the thread's own making stay visible.
  private static func withoutSignals(_ body: () -> Int32) -> Int32 {
    var blocked = sigset_t()
    var before = sigset_t()
    sigfillset(&blocked)
    for signal in [SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS] { sigdelset(&blocked, signal) }
    pthread_sigmask(SIG_SETMASK, &blocked, &before)
    defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
    return body()
  }

  private final class Start {
    let inbox: Inbox
    let multi: MultiHandle
    let configuration: CurlTransport.Configuration

    init(inbox: Inbox, multi: MultiHandle, configuration: CurlTransport.Configuration) {
      self.inbox = inbox
      self.multi = multi
      self.configuration = configuration
    }
  }
}
