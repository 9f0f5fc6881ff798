extension Duration {
  /// Whole milliseconds, rounded towards zero and clamped to what `Int64` holds: the unit of every `…Ms` member.
  public var wholeMilliseconds: Int64 {
    let (seconds, attoseconds) = components
    let (scaled, overflow) = seconds.multipliedReportingOverflow(by: 1000)
    guard !overflow else { return seconds < 0 ? .min : .max }
    let (sum, carried) = scaled.addingReportingOverflow(attoseconds / 1_000_000_000_000_000)
    return carried ? (seconds < 0 ? .min : .max) : sum
  }

  /// Whole milliseconds, rounded up: whoever waits that long is not too early.
  public var wholeMillisecondsUp: Int64 {
    let whole = wholeMilliseconds
    return whole < .max && .milliseconds(whole) < self ? whole + 1 : whole
  }

  /// The duration in seconds as a floating-point number, for metrics.
  public var inSeconds: Double {
    let (seconds, attoseconds) = components
    return Double(seconds) + Double(attoseconds) * 1e-18
  }
}
