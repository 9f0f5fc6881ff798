/// The instant by which a whole operation, retries and waits included, must be over; or none.
public struct Deadline: Sendable, Hashable {
  /// The instant; nil means no bound.
  public let instant: MonotonicInstant?

  /// No bound.
  public static let never = Deadline(instant: nil)

  /// A deadline at `instant`.
  public init(instant: MonotonicInstant?) { self.instant = instant }

  /// A deadline `duration` from now on `clock`.
  public init(in duration: Duration, on clock: some EngineClock) {
    instant = clock.monotonicNow + duration
  }

  /// What is left on `clock`, never negative; nil when unbounded.
  public func remaining(on clock: some EngineClock) -> Duration? {
    instant.map { max(.zero, $0 - clock.monotonicNow) }
  }

  /// Whether the instant has passed.
  public func hasPassed(on clock: some EngineClock) -> Bool {
    instant.map { $0 <= clock.monotonicNow } ?? false
  }

  /// The earlier of the two.
  public func earlier(_ other: Deadline) -> Deadline {
    switch (instant, other.instant) {
    case (let mine?, let theirs?): Deadline(instant: min(mine, theirs))
    case (let mine?, nil): Deadline(instant: mine)
    case (nil, let theirs): Deadline(instant: theirs)
    }
  }
}
