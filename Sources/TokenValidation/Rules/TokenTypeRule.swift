import JOSE
import PosternJSON

/// `typ` is that of the expected kind of token (RFC 8725 section 3.11; RFC 9068 section 4 for access tokens).
struct TokenTypeRule: HeaderRule {
  let accepted: [String]
  let mayBeAbsent: Bool

  func outcome(for header: JOSEHeader, beside claims: JWTClaims) -> RuleOutcome {
    do throws(JOSEError) {
      try header.requireType(accepted, mayBeAbsent: mayBeAbsent)
      return .met
    } catch {
      return .failed(
        TokenFault(error, expected: .array(accepted.map { .string($0) }), actual: header.type.map { .string($0) }))
    }
  }
}
