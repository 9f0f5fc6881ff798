import JOSE
import PosternJSON

/// Claims that the header of an encrypted token repeats are those inside (RFC 7519 section 5.3): what was sent on by
/// its header is what is judged by its claims.
struct ReplicatedClaimsRule: ClaimRule {
  /// The header of the encryption.
  let outer: JOSEHeader

  private static let replicated: [(name: String, code: TokenFault.Code)] = [
    ("iss", .issMismatch), ("sub", .subMismatch), ("aud", .audMismatch),
  ]

  func outcome(in context: RuleContext) -> RuleOutcome {
    for (name, code) in Self.replicated {
      guard let outside = outer.parameters[name] else { continue }
      // Written down, since strings that are canonically equivalent are other identifiers.
      guard let inside = context.claims.members[name], JSONWriter().write(outside) == JSONWriter().write(inside) else {
        return .failed(
          TokenFault(code, "\(name) in the header of the encrypted token is not the one in its claims", claim: name))
      }
    }
    return .met
  }
}
