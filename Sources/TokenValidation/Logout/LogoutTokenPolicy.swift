import JOSE
import PosternSupport

/// A configuration and one call's expectations of a logout token made into what is to be checked.
struct LogoutTokenPolicy: Sendable {
  let configuration: IDTokenConfiguration
  let expectations: LogoutTokenExpectations

  var clockSkew: Duration {
    IDTokenConfiguration.bounded(expectations.clockSkew ?? configuration.clockSkew)
  }

  /// Back-Channel Logout 1.0 section 2.6. No verdict is kept: a logout token is good for one use.
  var profile: TokenProfile {
    TokenProfile(
      algorithms: configuration.algorithms(narrowedTo: nil),
      clientSecret: configuration.clientSecret,
      encryption: configuration.encryption.optional,
      outerTypes: ["JWT", "logout+jwt"],
      headerRules: [
        SymmetricAudienceRule(),
        TokenTypeRule(accepted: ["logout+jwt", "JWT"], mayBeAbsent: true),
        ContentTypeRule(),
      ],
      claimRules: [
        IssuerRule(issuer: configuration.issuer),
        AudienceRule(audience: expectations.clientID),
        TrustedAudienceRule(clientID: expectations.clientID, trusted: configuration.trustedAudiences),
        ExpirationRule(),
        NotBeforeRule(),
        IssuedAtRule(maximumAge: configuration.maximumTokenAge),
        TokenIdentifierRule(maximumByteCount: 512),
        LogoutEventRule(),
        LogoutTargetRule(),
        NoNonceRule(),
      ],
      clockSkew: clockSkew,
      now: expectations.now,
      fingerprint: nil)
  }
}
