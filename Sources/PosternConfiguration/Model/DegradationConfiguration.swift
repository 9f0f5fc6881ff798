import PosternJSON
public import PosternSupport
import PosternYAML

/// A fixed decision that replaces a decision point for a while.
public struct DegradationConfiguration: Sendable, Equatable {
  /// The fixed decision.
  public enum Rule: String, Sendable, Hashable, CaseIterable {
    /// Everything is permitted.
    case permitAll = "permit-all"
    /// Everything is denied.
    case denyAll = "deny-all"
  }

  /// The fixed decision.
  public var rule: Rule
  /// When that ends by itself.
  public var until: Timestamp
}

extension DegradationConfiguration: ConfigurationSection {
  init(reading keys: SectionReader) {
    rule = keys.required(
      "rule", .choice(Rule.self, placeholder: .denyAll), "permit-all or deny-all; the decision point gets no requests.",
      example: .commented("deny-all"))
    until = keys.required(
      "until", .instant, "When the rule ends by itself, in UTC as 2026-01-02T03:04:05Z.",
      example: .commented("2026-01-02T03:04:05Z"))
  }
}

extension ValueForm where Value == Timestamp {
  /// An instant in UTC to the second (RFC 3339).
  fileprivate static var instant: Self {
    ValueForm(
      schema: { ["type": "string", "format": "date-time"] }, placeholder: Timestamp(secondsSinceEpoch: 0),
      json: { .string($0.rfc3339) },
      parse: { scalar, _ throws(ValueProblem) in
        guard let instant = Timestamp(utc: scalar.text) else {
          throw ValueProblem("must be an instant in UTC, as in 2026-01-02T03:04:05Z")
        }
        return instant
      })
  }
}
