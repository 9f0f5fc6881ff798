import JOSE
import PosternSupport

/// A configuration and one call's expectations of an access token made into what is to be checked.
struct AccessTokenPolicy: Sendable {
  let configuration: IDTokenConfiguration
  let expectations: AccessTokenExpectations

  /// RFC 9068 section 4. `typ` cannot be left out, so that no ID token passes for an access token.
  func profile(isKept: Bool) -> TokenProfile {
    TokenProfile(
      algorithms: configuration.algorithms(narrowedTo: nil),
      clientSecret: configuration.clientSecret,
      encryption: configuration.encryption.optional,
      outerTypes: ["JWT", "at+jwt"],
      stringClaims: ["scope"],
      headerRules: [
        SymmetricAudienceRule(),
        TokenTypeRule(accepted: ["at+jwt"], mayBeAbsent: false),
        ContentTypeRule(),
      ],
      claimRules: [
        IssuerRule(issuer: configuration.issuer),
        SubjectRule(),
        AudienceRule(audience: expectations.audience),
        ClientIDRule(clientID: expectations.clientID),
        ExpirationRule(),
        NotBeforeRule(),
        IssuedAtRule(maximumAge: configuration.maximumTokenAge),
        TokenIdentifierRule(),
        ConfirmationRule(shown: expectations.confirmation),
        ScopeRule(required: expectations.requiredScopes),
      ],
      clockSkew: IDTokenConfiguration.bounded(expectations.clockSkew ?? configuration.clockSkew),
      now: expectations.now,
      fingerprint: isKept ? fingerprint : nil)
  }

  var fingerprint: PolicyFingerprint {
    var fingerprint = PolicyFingerprint(kind: "at+jwt")
    configuration.add(to: &fingerprint)
    fingerprint.add(expectations.audience)
    fingerprint.add(expectations.requiredScopes)
    fingerprint.add(expectations.clientID)
    fingerprint.add(expectations.confirmation?.member.name)
    fingerprint.add(expectations.confirmation?.member.value)
    fingerprint.add(expectations.clockSkew)
    return fingerprint
  }
}
