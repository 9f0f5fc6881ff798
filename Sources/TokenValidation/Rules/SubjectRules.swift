import JOSE
import PosternJSON
import PosternSupport

/// `iss` is the issuer, byte by byte (OpenID Connect Core section 3.1.3.7 rule 2; RFC 9068 section 4).
///
/// An issuer of many tenants, as Entra's metadata for `common` have it, has `{tenantid}` where the token has its own
/// tenant, `tid`.
struct IssuerRule: ClaimRule {
  static let tenant = "{tenantid}"

  let issuer: String
  /// Other names of the same issuer.
  var others: [String] = []
  var mayBeAbsent = false

  func outcome(in context: RuleContext) -> RuleOutcome {
    guard let actual = context.claims.string("iss") else { return .absent("iss", unless: mayBeAbsent) }
    let isOther = others.contains { actual.isIdentical(to: Self.filled($0, by: context.claims)) }
    return .require(
      isOther || actual.isIdentical(to: Self.filled(issuer, by: context.claims)),
      TokenFault(
        .issMismatch, "iss is another issuer", claim: "iss", expected: .string(issuer), actual: .string(actual)))
  }
}

extension IssuerRule {
  /// The issuer of a token: with its tenant, where there is a place for it and the token has a usable one.
  private static func filled(_ issuer: String, by claims: JWTClaims) -> String {
    // Few issuers have the placeholder, and searching for it costs more than all other rules together.
    guard issuer.utf8.contains(UInt8(ascii: "{")), let place = issuer.firstRange(of: tenant),
      let id = claims.string("tid"), (1...64).contains(id.utf8.count),
      id.utf8.allSatisfy({ (0x30...0x39).contains($0) || (0x61...0x7A).contains($0 | 0x20) || $0 == UInt8(ascii: "-") })
    else { return issuer }
    return issuer[..<place.lowerBound] + id + issuer[place.upperBound...]
  }
}

/// `sub` is 1 to 255 ASCII characters (OpenID Connect Core section 2).
struct SubjectRule: ClaimRule {
  private static let maximumCount = 255

  func outcome(in context: RuleContext) -> RuleOutcome {
    guard let subject = context.claims.string("sub") else { return .absent("sub") }
    return .require(
      (1...Self.maximumCount).contains(subject.utf8.count) && subject.utf8.allSatisfy { $0 < 0x80 },
      TokenFault(.invalidClaim, "sub is empty, longer than 255 characters, or not ASCII", claim: "sub"))
  }
}

/// `jti` is present and not empty (RFC 9068 section 2.2; Back-Channel Logout 1.0 section 2.4).
struct TokenIdentifierRule: ClaimRule {
  /// The maximum length, for identifiers that are recorded.
  var maximumByteCount = Int.max

  func outcome(in context: RuleContext) -> RuleOutcome {
    guard let identifier = context.claims.string("jti") else { return .absent("jti") }
    return .require(
      !identifier.isEmpty && identifier.utf8.count <= maximumByteCount,
      TokenFault(.invalidClaim, "jti is empty or too long", claim: "jti"))
  }
}

/// `scope` contains every required scope (RFC 9068 section 4, RFC 6750 section 3.1).
struct ScopeRule: ClaimRule {
  let required: [String]
  /// The format of the token, which decides what else grants scopes.
  var format = AccessTokenExpectations.Format.rfc9068

  func outcome(in context: RuleContext) -> RuleOutcome {
    guard !required.isEmpty else { return .met }
    let granted = AccessTokenShape.scopes(in: context.claims, format: format)
    return .require(
      required.allSatisfy(granted.contains),
      TokenFault(
        .insufficientScope, "a scope that is needed is not granted", claim: "scope",
        expected: .array(required.map { .string($0) }),
        actual: context.claims.string("scope").map { .string($0) }))
  }
}

/// The key in `cnf` is the one whose possession was proven; a token that is bound to a key is not accepted as a bearer
/// token (RFC 7800 section 3.1, RFC 8705 section 3, RFC 9449 section 6.1).
struct ConfirmationRule: ClaimRule {
  let shown: TokenConfirmation?

  func outcome(in context: RuleContext) -> RuleOutcome {
    let bound = context.claims.members["cnf"]
    guard let shown else {
      return .require(
        bound == nil, TokenFault(.confirmationRequired, "the token is bound to a key", claim: "cnf"))
    }
    let (name, value) = shown.member
    return .require(
      bound?[name]?.stringValue?.isIdentical(to: value) ?? false,
      TokenFault(.confirmationMismatch, "the token is not bound to the key that was shown", claim: "cnf"))
  }
}

/// `acr` is one of the requested values (OpenID Connect Core section 3.1.3.7 rule 12).
struct AuthenticationContextRule: ClaimRule {
  let accepted: [String]

  func outcome(in context: RuleContext) -> RuleOutcome {
    let actual = context.claims.string("acr")
    return .require(
      actual.map(accepted.containsIdentical) ?? false,
      TokenFault(
        .acrMismatch, actual == nil ? "acr is missing" : "acr is none of the accepted values", claim: "acr",
        expected: .array(accepted.map { .string($0) }), actual: actual.map { .string($0) }))
  }
}

/// The authorization server reports the token as active (RFC 7662 section 2.2).
struct ActiveRule: ClaimRule {
  func outcome(in context: RuleContext) -> RuleOutcome {
    .require(
      context.claims.members["active"]?.boolValue == true,
      TokenFault(.inactive, "the authorization server reports the token as not active", claim: "active"))
  }
}
