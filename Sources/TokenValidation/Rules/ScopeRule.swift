import JOSE
import PosternJSON
import PosternSupport

/// `scope` grants everything that is needed (RFC 9068 section 4, RFC 6750 section 3.1).
struct ScopeRule: ClaimRule {
  let required: [String]

  func outcome(in context: RuleContext) -> RuleOutcome {
    guard !required.isEmpty else { return .met }
    let granted = IdenticalStrings((context.claims.string("scope") ?? "").split(atByte: " "))
    return .require(
      required.allSatisfy(granted.contains),
      TokenFault(
        .insufficientScope, "a scope that is needed is not granted", claim: "scope",
        expected: .array(required.map { .string($0) }),
        actual: context.claims.string("scope").map { .string($0) }))
  }
}
