import JOSE
import PosternJSON

/// A claim is there, whatever it says: for looking at a token without knowing what it must say.
struct PresenceRule: ClaimRule {
  let claim: String

  func outcome(in context: RuleContext) -> RuleOutcome {
    context.claims.members[claim] == nil ? .absent(claim, unless: false) : .met
  }
}
