import Glibc
import PosternSupport

/// Takes the process's signals on threads of its own, where everything may be done, unlike in a signal handler.
///
/// The handlers only write into pipes: blocking the signals instead would have to happen before the first thread
/// starts, and the Swift runtime is earlier. Ending has a pipe and a thread of its own: no number of reloads can make
/// it wait or get lost, nor one that hangs on a file.
package enum SignalThread {
  /// The action that a signal requests.
  enum Action: Sendable {
    /// SIGTERM, SIGINT.
    case end
    /// SIGHUP; any number that came together are one.
    case reload
  }

  /// The write ends of the pipes; set once before the first handler is installed.
  nonisolated(unsafe) private static var endPipe: Int32 = -1
  nonisolated(unsafe) private static var reloadPipe: Int32 = -1

  /// Where the threads read.
  package struct Pipes: Sendable {
    fileprivate let ending: Int32
    fileprivate let reloading: Int32
  }

  /// Installs the handlers: signals wait in the pipes until the threads start. Nil when that fails.
  static func install() -> Pipes? {
    guard let ending = makePipe(), let reloading = makePipe() else { return nil }
    endPipe = ending.write
    reloadPipe = reloading.write
    let isInstalled =
      install(SIGTERM) { _ in SignalThread.note(SignalThread.endPipe) }
      && install(SIGINT) { _ in SignalThread.note(SignalThread.endPipe) }
      && install(SIGHUP) { _ in SignalThread.note(SignalThread.reloadPipe) }
    return isInstalled ? Pipes(ending: ending.read, reloading: reloading.read) : nil
  }

  /// Starts the threads; `handle` is called there with each action. False when that fails.
  static func start(_ pipes: Pipes, _ handle: @escaping @Sendable (Action) -> Void) -> Bool {
    do throws(SystemThread.StartError) {
      try SystemThread.start("postern-end") { read(pipes.ending, .end, handle) }
      try SystemThread.start("postern-reload") { read(pipes.reloading, .reload, handle) }
      return true
    } catch { return false }
  }

  private static func makePipe() -> (read: Int32, write: Int32)? {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { return nil }
    // A full pipe means that the action is known: a handler must never wait.
    for end in ends where fcntl(end, F_SETFD, FD_CLOEXEC) != 0 || fcntl(end, F_SETFL, O_NONBLOCK) != 0 { return nil }
    return (ends[0], ends[1])
  }

  private static func install(_ signal: Int32, _ handler: @escaping @convention(c) (Int32) -> Void) -> Bool {
    var action = sigaction()
    action.__sigaction_handler.sa_handler = handler
    action.sa_flags = SA_RESTART
    return sigaction(signal, &action, nil) == 0
  }

  /// Called in a signal handler: async-signal-safe calls only.
  private static func note(_ pipe: Int32) {
    let before = errno
    var byte: UInt8 = 1
    _ = write(pipe, &byte, 1)
    errno = before
  }

  private static func read(_ pipe: Int32, _ action: Action, _ handle: @Sendable (Action) -> Void) {
    while true {
      var waiting = pollfd(fd: pipe, events: Int16(POLLIN), revents: 0)
      if poll(&waiting, 1, -1) < 0, errno != EINTR { return }
      // Ends one at a time: a second one means more than the first. Whatever comes while a reload is at work is one
      // more.
      var bytes = [UInt8](repeating: 0, count: action == .end ? 1 : 4096)
      if Glibc.read(pipe, &bytes, bytes.count) > 0 { handle(action) }
    }
  }
}
