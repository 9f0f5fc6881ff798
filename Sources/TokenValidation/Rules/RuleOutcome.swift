/// What a rule says about a token.
enum RuleOutcome: Sendable {
  /// As it should be, or the rule does not apply.
  case met
  /// Not as it should be.
  case failed(TokenFault)

  /// `failed` with a fault of the given parts unless `condition` holds.
  static func require(_ condition: Bool, _ fault: @autoclosure () -> TokenFault) -> RuleOutcome {
    condition ? .met : .failed(fault())
  }
}
