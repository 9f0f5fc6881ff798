import CPosternLinux
import Glibc
public import PosternSupport

/// A thread that waits for many descriptors at once (epoll(7), level-triggered) and for its timers, and runs what other
/// threads give it.
///
/// One iteration: handlers of ready descriptors, then closures of other threads, then due timers, then a bounded piece
/// of the worker's queue, then the work deferred to the end of the iteration. Everything on the loop runs one after the
/// other and must not block.
public final class EpollLoop: @unchecked Sendable {
  // Sendable because what is not behind the mailbox's lock is used on the loop's thread only, or never changes after
  // the start.

  /// How many events one wait returns.
  private static let eventsPerIteration: CInt = 64
  /// The longest wait in milliseconds: of no effect but on a lost wake-up, which would otherwise last for ever.
  private static let longestWait: Int64 = 60_000

  private let events: CInt
  private let mailbox: Mailbox
  /// Set before anything can be given to the loop, and never changed.
  private var thread: SystemThread.Handle?
  private var watched = WatchedDescriptors()
  private var timers = LoopTimers()
  private var worker: (any LoopWorker)?
  /// The work deferred to the end of the iteration.
  private var iterationEnds: [any IterationEnd] = []
  private let clock = SystemClock()

  /// A buffer for reads of the loop's handlers, used by one at a time.
  public let scratch: UnsafeMutableRawBufferPointer

  /// The time at which the current iteration began, on the boot clock. On the loop.
  public private(set) var now = MonotonicInstant(nanoseconds: 0)

  /// Starts the thread. `worker` works for a while in each iteration.
  ///
  /// - Throws: when the machine has no descriptor or no thread to give.
  public init(_ name: StaticString, worker: (any LoopWorker)? = nil) throws(EpollError) {
    let events = clinux_events_open()
    guard events >= 0 else { throw EpollError(call: "epoll_create1", errno: -events) }
    do throws(EpollError) {
      let mailbox = try Mailbox()
      let code = clinux_events_change(events, CLINUX_WATCH, mailbox.descriptor, readable, Self.wakeupToken)
      guard code == 0 else { throw EpollError(call: "epoll_ctl", errno: code) }
      self.mailbox = mailbox
    } catch {
      close(events)
      throw error
    }
    self.events = events
    self.worker = worker
    scratch = .allocate(byteCount: 1 << 16, alignment: 16)
    do throws(SystemThread.StartError) {
      thread = try SystemThread.startJoinable(name) { [self] in run() }
    } catch {
      close(events)
      scratch.deallocate()
      throw EpollError(call: "pthread_create", errno: error.code)
    }
  }

  deinit { scratch.deallocate() }

  // MARK: - From any thread

  /// Whether the caller runs on the loop.
  public var isCurrent: Bool { thread?.isCurrent ?? false }

  /// Runs `body` on the loop, later even when called there. False when the loop takes nothing more.
  @discardableResult
  public func execute(_ body: @escaping @Sendable () -> Void) -> Bool { mailbox.add(body) }

  /// Has the worker work soon.
  public func wake() { mailbox.wake() }

  /// Ends the loop after the closures that it has been given; the thread ends in its own time. `join` waits for that.
  public func stop() { mailbox.stop() }

  /// Waits for the end of the thread, after `stop`; once.
  public func join() { thread?.join() }

  // MARK: - On the loop

  /// Watches `descriptor`; `handler` is kept until `unwatch`, which must come before the descriptor is closed.
  public func watch(
    _ descriptor: CInt, for interest: Readiness, _ handler: any ReadinessHandler
  ) throws(EpollError) {
    let token = watched.add(descriptor, interest, handler)
    let code = clinux_events_change(events, CLINUX_WATCH, descriptor, interest.bits, token)
    guard code == 0 else {
      watched.remove(descriptor)
      throw EpollError(call: "epoll_ctl", errno: code)
    }
  }

  /// Changes what a watched descriptor is watched for; the end of a connection is reported in any case.
  public func rewatch(_ descriptor: CInt, for interest: Readiness) {
    guard let token = watched.change(descriptor, to: interest) else { return }
    // It can only fail for want of memory, and then for a descriptor that is watched already it does not.
    _ = clinux_events_change(events, CLINUX_REWATCH, descriptor, interest.bits, token)
  }

  /// Watches the descriptor no more; events of it that were reported already are dropped.
  public func unwatch(_ descriptor: CInt) {
    guard watched.remove(descriptor) else { return }
    _ = clinux_events_change(events, CLINUX_UNWATCH, descriptor, 0, 0)
  }

  /// Calls `body` once after `delay`, unless it is cancelled.
  @discardableResult
  public func schedule(in delay: Duration, _ body: @escaping () -> Void) -> LoopTimers.ID {
    timers.add(at: clock.monotonicNow + delay, body)
  }

  /// Cancels a timer; without effect when it has been called.
  public func cancel(_ timer: LoopTimers.ID) { timers.cancel(timer) }

  /// Calls `end` at the end of this iteration, after the worker.
  public func atEndOfIteration(_ end: any IterationEnd) { iterationEnds.append(end) }

  // MARK: - The thread

  private static let wakeupToken = UInt64.max

  private func run() {
    var ready = [clinux_event](repeating: clinux_event(), count: Int(Self.eventsPerIteration))
    var isMore = false
    while true {
      let wait = isMore || !mailbox.mayWait() ? 0 : waitingTime()
      let count = ready.withUnsafeMutableBufferPointer {
        clinux_events_wait(events, $0.baseAddress, Self.eventsPerIteration, wait)
      }
      now = clock.monotonicNow
      let (closures, isOver) = mailbox.take()
      if count > 0 { handle(ready[..<Int(count)]) }
      for closure in closures { closure() }
      if isOver { break }
      while let body = timers.next(at: now) { body() }
      isMore = worker?.work() ?? false
      // Work that was added meanwhile wakes nothing: the loop itself has added it.
      if endIteration(), worker?.hasWork == true { isMore = true }
    }
    worker?.stop()
    // The handlers may keep the loop.
    (worker, timers, watched, iterationEnds) = (nil, LoopTimers(), WatchedDescriptors(), [])
    close(events)
  }

  /// Does the deferred work; false when there was none.
  private func endIteration() -> Bool {
    guard !iterationEnds.isEmpty else { return false }
    // What comes of it may come again: until nothing does.
    while !iterationEnds.isEmpty {
      let ends = iterationEnds
      iterationEnds.removeAll(keepingCapacity: true)
      for end in ends { end.endIteration() }
    }
    return true
  }

  private func handle(_ ready: ArraySlice<clinux_event>) {
    for event in ready {
      if event.token == Self.wakeupToken {
        mailbox.clear()
      } else {
        watched.handler(of: event.token)?.ready(Readiness(bits: event.readiness))
      }
    }
  }

  /// How long to wait at most, in milliseconds, rounded up so that a timer is due afterwards.
  private func waitingTime() -> CInt {
    guard let next = timers.earliest else { return CInt(Self.longestWait) }
    return CInt(clamping: min(max(.zero, next - clock.monotonicNow).wholeMillisecondsUp, Self.longestWait))
  }
}

private let readable = UInt32(CLINUX_READABLE)

/// Work that gets a bounded piece of time in each iteration of a loop.
public protocol LoopWorker: AnyObject, Sendable {
  /// Works for a while, on the loop. True when there is more to do now.
  func work() -> Bool
  /// Whether there is something to do now.
  var hasWork: Bool { get }
  /// The loop is over; on its thread.
  func stop()
}

/// Handles the readiness of one watched descriptor, on the loop.
public protocol ReadinessHandler: AnyObject {
  /// The descriptor is ready.
  func ready(_ readiness: Readiness)
}

/// Work that is done once at the end of an iteration of the loop, such as a write of everything that the iteration has
/// produced.
public protocol IterationEnd: AnyObject {
  /// The iteration ends.
  func endIteration()
}

/// The readiness of a descriptor.
public struct Readiness: OptionSet, Sendable, Hashable {
  /// The bits.
  public let rawValue: UInt8

  /// Readiness of the given bits.
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// Bytes, the end of the stream, or a new connection can be read.
  public static let readable = Readiness(rawValue: UInt8(CLINUX_READABLE))
  /// Bytes can be written.
  public static let writable = Readiness(rawValue: UInt8(CLINUX_WRITABLE))
  /// Both directions are over, or the connection has failed. Always reported.
  public static let hungUp = Readiness(rawValue: UInt8(CLINUX_HUNG_UP))
  /// The peer sends no more; bytes that it has sent may be unread.
  public static let peerEnded = Readiness(rawValue: UInt8(CLINUX_PEER_ENDED))

  init(bits: UInt32) { rawValue = UInt8(truncatingIfNeeded: bits) }

  var bits: UInt32 { UInt32(rawValue) }
}

/// Why a loop did not start, or does not watch a descriptor.
public struct EpollError: Error, Sendable, CustomStringConvertible {
  /// The system call that failed.
  public let call: String
  /// Its error number.
  public let errno: CInt

  /// A failed call.
  package init(call: String, errno: CInt) {
    self.call = call
    self.errno = errno
  }

  /// For the person who starts the process.
  public var description: String { "\(call): \(SystemError.text(errno))" }
}
