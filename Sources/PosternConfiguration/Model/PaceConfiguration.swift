/// How fast requests go out: a token bucket.
public struct PaceConfiguration: Sendable, Equatable {
  /// Requests a second in the long run. Default 1.
  public var perSecond: Double
  /// Requests at once after a pause. Default 10.
  public var burst: Int

  /// A pace.
  public init(perSecond: Double, burst: Int) {
    self.perSecond = perSecond
    self.burst = burst
  }
}

extension PaceConfiguration: ConfigurationSection {
  init(reading keys: SectionReader) {
    perSecond = keys.value(
      "perSecond", .number(above: 0, upTo: 100_000), default: 1, "Requests a second in the long run.")
    burst = keys.value("burst", .integer(1...100_000), default: 10, "Requests at once after a pause.")
  }
}
