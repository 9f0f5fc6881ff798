import EventLoops
import PosternSupport

/// Waits until pipes and sockets are ready, on an event loop of its own, which starts with the first wait.
public final class DescriptorWaits: Sendable {
  /// How a wait ended.
  enum Outcome: Sendable {
    /// The descriptor is ready, or its other end has gone.
    case ready
    /// The time is over.
    case timedOut
    /// The calling task was cancelled.
    case cancelled
    /// The descriptor cannot be watched.
    case impossible
  }

  private let loop = Locked<EpollLoop?>(nil)

  /// No loop yet.
  public init() {}

  deinit { loop.withLock { $0 }?.stop() }

  /// Waits until `descriptor` has the readiness, for at most `time`. One wait of a descriptor at a time.
  func wait(for readiness: Readiness, of descriptor: PassedDescriptor, atMost time: Duration) async -> Outcome {
    guard let loop = running() else { return .impossible }
    let wait = DescriptorWait(descriptor, on: loop)
    return await withTaskCancellationHandler {
      guard loop.execute({ wait.begin(readiness, atMost: time) }) else { return .impossible }
      return await wait.reply.value()
    } onCancel: {
      loop.execute { wait.end(.cancelled) }
    }
  }

  private func running() -> EpollLoop? {
    loop.withLock { loop in
      if loop == nil { loop = try? EpollLoop("postern-bodies") }
      return loop
    }
  }
}

/// One wait. It keeps its descriptor open until it is over.
private final class DescriptorWait: ReadinessHandler, @unchecked Sendable {
  // Sendable because everything but `reply` is used on the loop only.
  let reply = Reply<DescriptorWaits.Outcome>()
  private let descriptor: PassedDescriptor
  private let loop: EpollLoop
  private var isWatching = false
  private var isOver = false
  private var timer: LoopTimers.ID?

  init(_ descriptor: PassedDescriptor, on loop: EpollLoop) {
    self.descriptor = descriptor
    self.loop = loop
  }

  func begin(_ readiness: Readiness, atMost time: Duration) {
    guard !isOver else { return }
    do throws(EpollError) {
      try loop.watch(descriptor.number, for: readiness, self)
    } catch {
      return end(.impossible)
    }
    isWatching = true
    timer = loop.schedule(in: time) { self.end(.timedOut) }
  }

  func ready(_ readiness: Readiness) { end(.ready) }

  func end(_ outcome: DescriptorWaits.Outcome) {
    guard !isOver else { return }
    isOver = true
    if let timer { loop.cancel(timer) }
    timer = nil
    if isWatching { loop.unwatch(descriptor.number) }
    reply.fill(outcome)
  }
}
