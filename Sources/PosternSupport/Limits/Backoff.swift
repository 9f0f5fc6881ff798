/// The delay before the next attempt at something that fails: each twice the one before, up to a bound, and never
/// shorter than the server requested (`Retry-After`). Time comes from outside.
///
/// Without jitter: each is kept by one process for one server, whose requests are joined (`SingleFlight`), so that no
/// two attempts coincide.
public struct Backoff: Sendable {
  private let first: Duration
  private let longest: Duration
  /// How many failures are followed by no delay.
  private let tolerance: Int
  private var failures = 0
  /// When the next attempt may be made; nil: at any time.
  public private(set) var end: MonotonicInstant?

  /// No failure yet.
  public init(first: Duration, longest: Duration, tolerance: Int = 0) {
    self.first = first
    self.longest = longest
    self.tolerance = tolerance
  }

  /// The delay after the failures so far.
  public var delay: Duration {
    guard failures > tolerance else { return .zero }
    var delay = first
    for _ in 1..<(failures - tolerance) where delay < longest { delay = delay * 2 }
    return min(delay, longest)
  }

  /// Whether the next attempt may be made.
  public func isOver(at now: MonotonicInstant) -> Bool { end.map { $0 <= now } ?? true }

  /// Counts a failure, and returns the delay from `now` on.
  @discardableResult
  public mutating func fail(at now: MonotonicInstant, retryAfter: Duration? = nil) -> Duration {
    // More of them change nothing.
    failures = min(failures + 1, tolerance + 64)
    let wait = max(delay, retryAfter ?? .zero)
    end = now + wait
    return wait
  }

  /// Forgets the failures.
  public mutating func succeed() {
    failures = 0
    end = nil
  }
}

extension Backoff: ConciseStringConvertible {
  /// The number of failures, and the end of the delay.
  public var description: String {
    Concise.text(Concise.count(failures, "failure"), end.map { "no retry before \($0)" })
  }
}
