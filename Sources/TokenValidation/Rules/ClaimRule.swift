import JOSE
import PosternJSON
import PosternSupport

/// A rule for the claims of a token whose signature has been verified. A value without state, so that it can be checked
/// at every use of a cached verdict.
protocol ClaimRule: Sendable {
  /// Checks the rule.
  func outcome(in context: RuleContext) -> RuleOutcome
}

/// The input of claim rules.
struct RuleContext: Sendable {
  /// The signer's key, which decides the hash of the hash claims.
  struct Signer: Sendable {
    let algorithm: SignatureAlgorithm
    let key: JWK
  }

  let claims: JWTClaims
  /// Nil where the claims are not from a signed token.
  let signer: Signer?
  let now: Timestamp
  let clockSkew: Duration
  /// Nil where the claims are not from a signed token.
  var header: JOSEHeader?
}

extension RuleContext {
  /// Returns the first violation of `rules`; nil when all are met.
  func firstFault(of rules: [any ClaimRule]) -> TokenFault? {
    for rule in rules {
      if case .failed(let fault) = rule.outcome(in: self) { return fault }
    }
    return nil
  }
}

/// The outcome of a rule.
enum RuleOutcome: Sendable {
  /// The rule is met, or does not apply.
  case met
  /// The rule is violated.
  case failed(TokenFault)

  /// Returns `failed` with a fault unless `condition` is true.
  static func require(_ condition: Bool, _ fault: @autoclosure () -> TokenFault) -> RuleOutcome {
    condition ? .met : .failed(fault())
  }
}

extension RuleOutcome {
  /// Returns the outcome for an absent `claim`: `missing_claim`, unless that is allowed.
  static func absent(_ claim: String, unless isAllowed: Bool = false) -> RuleOutcome {
    .require(isAllowed, TokenFault(.missingClaim, "\(claim) is missing", claim: claim))
  }
}

/// A claim is present, whatever its value: for the inspection of a token without expectations.
struct PresenceRule: ClaimRule {
  let claim: String

  func outcome(in context: RuleContext) -> RuleOutcome {
    context.claims.members[claim] == nil ? .absent(claim, unless: false) : .met
  }
}

/// A rule for a token before a key is chosen for it.
protocol HeaderRule: Sendable {
  /// Checks the rule on a header and the claims, neither of them verified.
  func outcome(for header: JOSEHeader, claims: JWTClaims) -> RuleOutcome
}
