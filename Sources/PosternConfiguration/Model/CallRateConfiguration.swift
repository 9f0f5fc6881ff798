/// How often a caller may call: a token bucket.
public struct CallRateConfiguration: Sendable, Equatable {
  /// Calls a second in the long run.
  public var perSecond: Double
  /// Calls at once after a pause.
  public var burst: Int

  /// A rate.
  public init(perSecond: Double, burst: Int) {
    self.perSecond = perSecond
    self.burst = burst
  }
}

extension CallRateConfiguration: ConfigurationSection {
  init(reading keys: SectionReader) {
    perSecond = keys.value(
      "perSecond", .number(above: 0, upTo: 1_000_000), default: 100, "Calls a second in the long run.")
    burst = keys.value("burst", .integer(1...1_000_000), default: 200, "Calls at once after a pause.")
  }
}
