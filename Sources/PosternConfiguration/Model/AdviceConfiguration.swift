/// Policy advice: further steps that an answer may ask for.
public struct AdviceConfiguration: Sendable, Equatable {
  /// Whether answers are searched for advice. Default true.
  public var isEnabled: Bool
  /// How many times in one call advice is satisfied. Default 3.
  public var rounds: Int
  /// How long a delegate may take, and how long a continuation lives. Default 180 seconds.
  public var wait: Duration
}

extension AdviceConfiguration: ConfigurationSection {
  init(reading keys: SectionReader) {
    isEnabled = keys.value("enabled", .boolean, default: true, "Whether answers are searched for advice.")
    rounds = keys.value("rounds", .integer(1...10), default: 3, "How many times in one call advice is satisfied.")
    wait = keys.value(
      "wait", .duration(.milliseconds(1) ... .seconds(3600)), default: .seconds(180),
      "How long a delegate may take, and how long a continuation lives.")
  }
}
