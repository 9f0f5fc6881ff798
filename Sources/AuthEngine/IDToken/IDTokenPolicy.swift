import JOSE
import Support

/// A configuration and one call's expectations made into what is to be checked.
struct IDTokenPolicy: Sendable {
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
      headerRules: [
        SymmetricAudienceRule(),
        TokenTypeRule(accepted: ["JWT"], mayBeAbsent: true),
        ContentTypeRule(),
        NotALogoutTokenRule(),
      ],
      claimRules: commonRules + requestRules + flowRules(limits: limits),
      clockSkew: clockSkew,
      now: expectations.now,
      fingerprint: isKept ? fingerprint : nil)
  }

  private var commonRules: [any ClaimRule] {
    [
      IssuerRule(issuer: configuration.issuer),
      SubjectRule(),
      AudienceRule(audience: expectations.clientID),
      TrustedAudienceRule(clientID: expectations.clientID, trusted: trustedAudiences),
      AuthorizedPartyRule(clientID: expectations.clientID, isRequired: requiresAuthorizedParty),
      ExpirationRule(),
      NotBeforeRule(),
      IssuedAtRule(maximumAge: configuration.maximumTokenAge),
    ]
  }

  private var requestRules: [any ClaimRule] {
    let isFrontChannel = expectations.flow.isFrontChannel
    var isHybrid = false
    if case .hybrid = expectations.flow { isHybrid = true }
    var rules: [any ClaimRule] = [NonceRule(nonce: expectations.nonce, isRequired: isFrontChannel)]
    if let maxAge = expectations.maxAge { rules.append(AuthenticationAgeRule(maxAge: max(maxAge, .zero))) }
    if !expectations.acrValues.isEmpty { rules.append(AuthenticationContextRule(accepted: expectations.acrValues)) }
    let accessToken = expectations.accessToken
    return rules + [
      TokenHashRule.accessToken(accessToken, isRequired: isFrontChannel && accessToken != nil),
      TokenHashRule.authorizationCode(expectations.authorizationCode, isRequired: isHybrid),
      TokenHashRule.state(expectations.state),
    ]
  }

  private func flowRules(limits: TokenLimits) -> [any ClaimRule] {
    switch expectations.flow {
    case .code, .implicit, .hybrid(other: nil): []
    case .hybrid(let other?): [SiblingTokenRule(other: claims(of: other, limits: limits))]
    case .refresh(let previous): [RefreshRule(previous: claims(of: previous, limits: limits))]
    }
  }

  /// The claims of a token that was validated before, by now perhaps expired or under a key that is gone: only read.
  private func claims(of token: String, limits: TokenLimits) -> JWTClaims? {
    guard
      let opened = try? configuration.encryption.open(
        token, clientSecret: configuration.clientSecret, limits: limits)
    else { return nil }
    return (try? TokenReading(opened, limits: limits))?.claims
  }
}
