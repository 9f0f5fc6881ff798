import JOSE
import PosternJSON
import PosternSupport

/// `aud` contains the expected audience (OpenID Connect Core section 3.1.3.7 rule 3; RFC 9068 section 4).
struct AudienceRule: ClaimRule {
  let audience: String
  /// The format of an access token, which may show its audience in another way.
  var format = AccessTokenExpectations.Format.rfc9068

  func outcome(in context: RuleContext) -> RuleOutcome {
    guard let actual = AccessTokenShape.audiences(in: context.claims, format: format) else { return .absent("aud") }
    return .require(
      actual.containsIdentical(audience),
      TokenFault(
        .audMismatch, "the token is for another audience", claim: "aud", expected: .string(audience),
        actual: .array(actual.map { .string($0) })))
  }
}

/// Every audience other than the client is a trusted one (OpenID Connect Core section 3.1.3.7 rule 3).
struct TrustedAudienceRule: ClaimRule {
  let clientID: String
  let trusted: [String]

  func outcome(in context: RuleContext) -> RuleOutcome {
    let trusted = IdenticalStrings(trusted)
    let foreign = context.claims.audiences?.first { !$0.isIdentical(to: clientID) && !trusted.contains($0) }
    guard let foreign else { return .met }
    return .failed(
      TokenFault(
        .untrustedAudience, "the token is also for an audience that is not trusted", claim: "aud",
        actual: .string(foreign)))
  }
}

/// `azp` and `client_id`, if present, are the client, or another that is trusted with tokens for this one, as the Android
/// client of a server is at Google; where several audiences require `azp`, it is present (OpenID Connect Core section
/// 3.1.3.7 rules 4 and 5 before, section 2 since errata set 2, which leaves the requirement to the client). No
/// specification has `client_id` in an ID token; providers that put it there mean the client of `azp`.
struct AuthorizedPartyRule: ClaimRule {
  private static let claims: [(name: String, code: TokenFault.Code)] = [
    ("azp", .azpMismatch), ("client_id", .clientIDMismatch),
  ]

  let clientID: String
  var trusted: [String] = []
  var trustsProject = false
  let isRequired: Bool

  func outcome(in context: RuleContext) -> RuleOutcome {
    if isRequired, context.claims.string("azp") == nil, (context.claims.audiences?.count ?? 0) > 1 {
      return .failed(
        TokenFault(
          .azpMismatch, "azp is missing in a token with several audiences", claim: "azp", expected: .string(clientID)))
    }
    for (name, code) in Self.claims {
      guard let party = context.claims.string(name), !isTrusted(party) else { continue }
      return .failed(
        TokenFault(
          code, "the token was issued to another client", claim: name, expected: .string(clientID),
          actual: .string(party)))
    }
    return .met
  }

  private func isTrusted(_ party: String) -> Bool {
    party.isIdentical(to: clientID) || trusted.containsIdentical(party)
      || trustsProject && Self.project(of: party).map { $0.isIdentical(to: Self.project(of: clientID) ?? "") } ?? false
  }
}

extension AuthorizedPartyRule {
  /// The number of the project that a client of Google belongs to.
  private static func project(of client: String) -> String? {
    guard client.endsWithBytes(of: ".apps.googleusercontent.com"),
      let hyphen = client.utf8.firstIndex(of: UInt8(ascii: "-"))
    else { return nil }
    let number = client[..<hyphen]
    return !number.isEmpty && number.utf8.allSatisfy { (0x30...0x39).contains($0) } ? String(number) : nil
  }
}

/// A token that is signed with a client secret has one audience: such a signature proves nothing to another client
/// (OpenID Connect Core section 3.1.3.7 rule 8).
struct SymmetricAudienceRule: HeaderRule {
  func outcome(for header: JOSEHeader, claims: JWTClaims) -> RuleOutcome {
    let isSymmetric = SignatureAlgorithm(name: header.algorithm)?.isSymmetric ?? false
    return .require(
      !isSymmetric || (claims.audiences?.count ?? 0) <= 1,
      TokenFault(.algNotAllowed, "a token with several audiences is signed with a shared secret", claim: "alg"))
  }
}

/// `client_id` is present, and the presenting client where that is known (RFC 9068 section 2.2; RFC 7662 section 2.2).
struct ClientIDRule: ClaimRule {
  let clientID: String?
  var mayBeAbsent = false

  func outcome(in context: RuleContext) -> RuleOutcome {
    guard let actual = context.claims.string("client_id") else {
      return .absent("client_id", unless: mayBeAbsent && clientID == nil)
    }
    guard let clientID else { return .met }
    return .require(
      actual.isIdentical(to: clientID),
      TokenFault(
        .clientIDMismatch, "the token was issued to another client", claim: "client_id",
        expected: .string(clientID), actual: .string(actual)))
  }
}
