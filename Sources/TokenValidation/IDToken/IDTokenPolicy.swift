import JOSE
import PosternSupport

/// The rules for an ID token by a configuration and one call's expectations.
struct IDTokenPolicy: Sendable {
  private static let headerRules: [any HeaderRule] = [
    SymmetricAudienceRule(),
    TokenTypeRule(accepted: ["JWT"], mayBeAbsent: true),
    ContentTypeRule(),
    NotALogoutTokenRule(),
  ]

  let prepared: PreparedTokenRules
  let expectations: IDTokenExpectations

  var configuration: IDTokenConfiguration { prepared.configuration }

  var algorithms: [SignatureAlgorithm] { configuration.algorithms(narrowedTo: expectations.algorithms) }

  var trustedAudiences: [String] { expectations.trustedAudiences ?? configuration.trustedAudiences }

  var requiresAuthorizedParty: Bool {
    expectations.requiresAuthorizedParty ?? configuration.requiresAuthorizedParty
  }

  var clockSkew: Duration {
    IDTokenConfiguration.bounded(expectations.clockSkew ?? configuration.clockSkew)
  }

  /// The profile of OpenID Connect Core section 3.1.3.7, in the documented order.
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
    // One array: nothing is allocated per call that need not be.
    var rules: [any ClaimRule] = []
    rules.reserveCapacity(15)
    addCommonRules(to: &rules)
    addRequestRules(to: &rules)
    addFlowRules(to: &rules, limits: limits)
    return rules
  }

  private func addCommonRules(to rules: inout [any ClaimRule]) {
    rules.append(IssuerRule(issuer: configuration.issuer, others: configuration.otherIssuers))
    rules.append(SubjectRule())
    rules.append(AudienceRule(audience: expectations.clientID))
    rules.append(TrustedAudienceRule(clientID: expectations.clientID, trusted: trustedAudiences))
    rules.append(
      AuthorizedPartyRule(
        clientID: expectations.clientID, trusted: configuration.trustedAuthorizedParties + trustedAudiences,
        trustsProject: configuration.trustsProject, isRequired: requiresAuthorizedParty))
    rules.append(ExpirationRule())
    rules.append(NotBeforeRule())
    rules.append(IssuedAtRule(maximumAge: configuration.maximumTokenAge))
  }

  private func addRequestRules(to rules: inout [any ClaimRule]) {
    let isFrontChannel = expectations.flow.isFrontChannel
    var (isHybrid, isRefresh) = (false, false)
    switch expectations.flow {
    case .hybrid: isHybrid = true
    case .refresh: isRefresh = true
    case .code, .implicit: break
    }
    rules.append(
      NonceRule(
        nonce: expectations.nonce, isRequired: isFrontChannel,
        rejectsUnexpected: !isRefresh && (expectations.rejectsUnexpectedNonce ?? configuration.rejectsUnexpectedNonce)))
    if let maxAge = expectations.maxAge { rules.append(AuthenticationAgeRule(maxAge: max(maxAge, .zero))) }
    if !expectations.acrValues.isEmpty { rules.append(AuthenticationContextRule(accepted: expectations.acrValues)) }
    // A hash without a value to compare it with is no rule, unless it must be present.
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

  /// Reads the claims of a token that was validated earlier, and may have expired or lost its key since.
  private func claims(of token: String, limits: TokenLimits) -> JWTClaims? {
    guard
      let opened = try? configuration.encryption.open(
        token, types: ["JWT"], clientSecret: configuration.clientSecret, limits: limits)
    else { return nil }
    return (try? TokenReading(opened, limits: limits))?.claims
  }
}

extension IDTokenPolicy {
  /// Everything that a verdict depends on, without the client secret, on which no cached verdict depends, and without
  /// the time, which is checked at every use.
  var fingerprint: PolicyFingerprint {
    var fingerprint = PolicyFingerprint(kind: "id_token")
    fingerprint.add(prepared)
    expectations.add(to: &fingerprint)
    return fingerprint
  }
}

/// A configuration that does not change any more, with its part of the fingerprint of every policy: made once, and not
/// for each call.
package final class PreparedTokenRules: Sendable {
  /// The configuration.
  package let configuration: IDTokenConfiguration
  fileprivate let fingerprint: PolicyFingerprint

  /// Prepares `configuration`.
  package init(_ configuration: IDTokenConfiguration) {
    self.configuration = configuration
    var fingerprint = PolicyFingerprint(kind: "configuration")
    configuration.add(to: &fingerprint)
    self.fingerprint = fingerprint
  }
}

extension PolicyFingerprint {
  /// Adds the configuration of a policy.
  mutating func add(_ rules: PreparedTokenRules) { add(rules.fingerprint) }
}

extension IDTokenConfiguration {
  fileprivate func add(to fingerprint: inout PolicyFingerprint) {
    fingerprint.add(issuer)
    fingerprint.add(algorithms.map(\.name))
    fingerprint.add(clockSkew)
    fingerprint.add(trustedAudiences)
    fingerprint.add(trustedAuthorizedParties)
    fingerprint.add(trustsProject)
    fingerprint.add(otherIssuers)
    fingerprint.add(clientID)
    fingerprint.add(likelyProvider?.name)
    fingerprint.add(requiresAuthorizedParty)
    fingerprint.add(rejectsUnexpectedNonce)
    fingerprint.add(maximumTokenAge)
    fingerprint.add(clientSecret != nil)
    fingerprint.add(encryption.isRequired)
    fingerprint.add(encryption.keys.map { $0.thumbprint ?? "" })
    fingerprint.add(encryption.keys.map { $0.keyID ?? "" })
    fingerprint.add(encryption.algorithms.map(\.name))
    fingerprint.add(encryption.encryptions.map(\.name))
  }
}

extension IDTokenExpectations {
  fileprivate func add(to fingerprint: inout PolicyFingerprint) {
    fingerprint.add(clientID)
    fingerprint.add(nonce)
    fingerprint.add(authorizationCode?.reveal())
    fingerprint.add(accessToken?.reveal())
    fingerprint.add(state)
    fingerprint.add(maxAge)
    fingerprint.add(acrValues)
    fingerprint.add(algorithms != nil)
    fingerprint.add((algorithms ?? []).map(\.name))
    fingerprint.add(flow.fingerprint)
    fingerprint.add(trustedAudiences != nil)
    fingerprint.add(trustedAudiences ?? [])
    fingerprint.add(clockSkew)
    fingerprint.add(requiresAuthorizedParty.map { $0 ? "true" : "false" })
    fingerprint.add(rejectsUnexpectedNonce.map { $0 ? "true" : "false" })
  }
}

extension TokenFlow {
  fileprivate var fingerprint: [String] {
    switch self {
    case .code: ["code"]
    case .implicit: ["implicit"]
    case .hybrid(let other): ["hybrid"] + (other.map { [$0] } ?? [])
    case .refresh(let previous): ["refresh", previous]
    }
  }
}
