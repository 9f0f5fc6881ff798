/// How long decisions are kept; a decision point's own, shorter word goes before it.
public struct DecisionCacheConfiguration: Sendable, Equatable {
  /// Permits. Default 60 seconds; zero keeps none.
  public var permit: Duration
  /// Genuine denies. Default zero: none.
  public var deny: Duration
}

extension DecisionCacheConfiguration: ConfigurationSection {
  init(reading keys: SectionReader) {
    permit = keys.value(
      "permit", .duration(upTo: .seconds(86_400)), default: .seconds(60),
      "How long a permit is kept; 0s for not at all.")
    deny = keys.value(
      "deny", .duration(upTo: .seconds(3600)), default: .zero, "How long a genuine deny is kept; 0s for not at all.")
  }
}
