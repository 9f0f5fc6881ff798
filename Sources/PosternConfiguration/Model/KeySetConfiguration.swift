/// How long an issuer's key set is kept.
public struct KeySetConfiguration: Sendable, Equatable {
  /// The shortest time, whatever `Cache-Control` says. Default 1 minute.
  public var minTTL: Duration
  /// The longest time, whatever `Cache-Control` says. Default 1 day.
  public var maxTTL: Duration
  /// The time between two fetches for unknown key ids. Default 30 seconds.
  public var cooldown: Duration
  /// How long an expired set serves while the issuer cannot be reached. Default 1 hour.
  public var staleIfError: Duration
}

extension KeySetConfiguration: ConfigurationSection {
  init(reading keys: SectionReader) {
    let day = Duration.seconds(86_400)
    minTTL = keys.value(
      "minTtl", .duration(upTo: day), default: .seconds(60),
      "Shortest time a key set is kept, whatever the issuer says.")
    maxTTL = keys.value(
      "maxTtl", .duration(upTo: day * 30), default: day, "Longest time a key set is kept, whatever the issuer says.")
    cooldown = keys.value(
      "cooldown", .duration(upTo: .seconds(3600)), default: .seconds(30),
      "Time between two fetches that unknown key ids cause.")
    staleIfError = keys.value(
      "staleIfError", .duration(upTo: day * 7), default: .seconds(3600),
      "How long an expired key set serves while the issuer cannot be reached.")
    if minTTL > maxTTL {
      keys.problem("minTtl is longer than maxTtl", at: keys.isGiven("minTtl") ? "minTtl" : "maxTtl")
    }
  }
}
