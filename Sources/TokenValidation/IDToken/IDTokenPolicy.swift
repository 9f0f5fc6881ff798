import JOSE
import PosternSupport

/// A configuration and one call's expectations made into what is to be checked.
struct IDTokenPolicy: Sendable {
  private static let headerRules: [any HeaderRule] = [
    SymmetricAudienceRule(),
    TokenTypeRule(accepted: ["JWT"], mayBeAbsent: true),
    ContentTypeRule(),
    NotALogoutTokenRule(),
  ]

  let configuration: IDTokenConfiguration
  let expectations: IDTokenExpectations

  var algorithms: [SignatureAlgorithm] { configuration.algorithms(narrowedTo: expectations.algorithms) }

  var trustedAudiences: [String] { expectations.trustedAudiences ?? configuration.trustedAudiences }

  var requiresAuthorizedParty: Bool {
    expectations.requiresAuthorizedParty ?? configuration.requiresAuthorizedParty
  }

  var clockSkew: Duration {
    IDTokenConfiguration.bounded(expectations.clockSkew ?? configuration.clockSkew)
  }

  /// OpenID Connect Core section 3.1.3.7, in the order of the contract.
  func profile(limits: TokenLimits, isKept: Bool) -> TokenProfile {
    TokenProfile(
      algorithms: algorithms,
      clientSecret: configuration.clientSecret,
      encryption: configuration.encryption,
      headerRules: Self.headerRules,
      claimRules: claimRules(limits: limits),
      clockSkew: clockSkew,
      now: expectations.now,
      fingerprint: isKept ? fingerprint : nil)
  }

  private func claimRules(limits: TokenLimits) -> [any ClaimRule] {
    // One array: nothing is made per call that need not be.
    var rules: [any ClaimRule] = []
    rules.reserveCapacity(15)
    addCommonRules(to: &rules)
    addRequestRules(to: &rules)
    addFlowRules(to: &rules, limits: limits)
    return rules
  }

  private func addCommonRules(to rules: inout [any ClaimRule]) {
    rules.append(IssuerRule(issuer: configuration.issuer))
    rules.append(SubjectRule())
    rules.append(AudienceRule(audience: expectations.clientID))
    rules.append(TrustedAudienceRule(clientID: expectations.clientID, trusted: trustedAudiences))
    rules.append(AuthorizedPartyRule(clientID: expectations.clientID, isRequired: requiresAuthorizedParty))
    rules.append(ExpirationRule())
    rules.append(NotBeforeRule())
    rules.append(IssuedAtRule(maximumAge: configuration.maximumTokenAge))
  }

  private func addRequestRules(to rules: inout [any ClaimRule]) {
    let isFrontChannel = expectations.flow.isFrontChannel
    var isHybrid = false
    if case .hybrid = expectations.flow { isHybrid = true }
    rules.append(NonceRule(nonce: expectations.nonce, isRequired: isFrontChannel))
    if let maxAge = expectations.maxAge { rules.append(AuthenticationAgeRule(maxAge: max(maxAge, .zero))) }
    if !expectations.acrValues.isEmpty { rules.append(AuthenticationContextRule(accepted: expectations.acrValues)) }
    // A hash with nothing to compare with is no rule, unless it must be there.
    if expectations.accessToken != nil {
      rules.append(TokenHashRule.accessToken(expectations.accessToken, isRequired: isFrontChannel))
    }
    if expectations.authorizationCode != nil || isHybrid {
      rules.append(TokenHashRule.authorizationCode(expectations.authorizationCode, isRequired: isHybrid))
    }
    if expectations.state != nil { rules.append(TokenHashRule.state(expectations.state)) }
  }

  private func addFlowRules(to rules: inout [any ClaimRule], limits: TokenLimits) {
    switch expectations.flow {
    case .code, .implicit, .hybrid(other: nil): break
    case .hybrid(let other?): rules.append(SiblingTokenRule(other: claims(of: other, limits: limits)))
    case .refresh(let previous): rules.append(RefreshRule(previous: claims(of: previous, limits: limits)))
    }
  }

  /// The claims of a token that was validated before, by now perhaps expired or under a key that is gone: only read.
  private func claims(of token: String, limits: TokenLimits) -> JWTClaims? {
    guard
      let opened = try? configuration.encryption.open(
        token, types: ["JWT"], clientSecret: configuration.clientSecret, limits: limits)
    else { return nil }
    return (try? TokenReading(opened, limits: limits))?.claims
  }
}
