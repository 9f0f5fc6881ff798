import HTTPMessages
import OAuthClient
import PosternSupport

/// The time that one fetch may take, from the token to the last response.
///
/// It does not pass while the fetch is paused, nor while a user satisfies advice, unless the caller bounds all of the
/// fetch with a timeout.
struct FetchTimer {
  let started: MonotonicInstant
  /// The deadline of the fetch, without the time for which it was paused: the transport adds that by itself.
  private(set) var limit: Deadline
  /// Whether the caller has set a timeout: it counts the user's time, too, and bounds bodies that are streamed.
  let isBoundByCaller: Bool
  private let clock: any EngineClock
  private let callerDeadline: Deadline
  private let control: TransferControl?

  init(_ options: FetchOptions, _ server: ResourceServer, clock: any EngineClock) {
    let timeout = min(options.timeout ?? server.timeout, ResourceServer.maxTimeout)
    started = clock.monotonicNow
    limit = options.scope.deadline
    // How long a body takes to come is up to the program that sends it.
    if !options.isForwarded || options.supply == nil {
      limit = limit.earlier(Deadline(in: timeout, on: clock))
    }
    isBoundByCaller = options.timeout != nil
    self.clock = clock
    callerDeadline = options.scope.deadline
    control = options.task?.control
  }

  /// The deadline of the fetch as it is now.
  var deadline: Deadline {
    guard let instant = limit.instant, let control else { return limit }
    return Deadline(instant: instant + control.pausedTime(at: clock.monotonicNow))
  }

  /// The deadline for a user who satisfies advice.
  var adviceDeadline: Deadline { isBoundByCaller ? deadline : callerDeadline }

  /// Gives back the time since `start`, in which a user satisfied advice.
  mutating func giveBack(since start: MonotonicInstant) {
    guard !isBoundByCaller, let instant = limit.instant else { return }
    limit = callerDeadline.earlier(Deadline(instant: instant + (clock.monotonicNow - start)))
  }
}
