import JOSE
import PosternJSON
import PosternSupport

/// A configuration and one call's expectations of an introspected token made into what is to be checked.
struct IntrospectionPolicy: Sendable {
  let configuration: IDTokenConfiguration
  let expectations: IntrospectionExpectations

  /// RFC 7662 section 2.2: every member but `active` may be left out.
  var rules: [any ClaimRule] {
    var rules: [any ClaimRule] = [
      ActiveRule(),
      IssuerRule(issuer: configuration.issuer, mayBeAbsent: true),
    ]
    if let audience = expectations.audience { rules.append(AudienceRule(audience: audience)) }
    return rules + [
      ClientIDRule(clientID: expectations.clientID, mayBeAbsent: true),
      ExpirationRule(mayBeAbsent: true),
      NotBeforeRule(),
      IssuedAtRule(mayBeAbsent: true),
      AccessTokenTypeRule(tokenType: expectations.tokenType),
      ScopeRule(required: expectations.requiredScopes),
    ]
  }

  /// The members with their types checked. An inactive token needs no other member, so that none is looked at.
  func claims(_ members: JSONObject) throws(JOSEError) -> JWTClaims {
    guard members["active"]?.boolValue == true else { return try JWTClaims(["active": false]) }
    for name in ["scope", "token_type"] {
      guard members[name] == nil || members[name]?.stringValue != nil else {
        throw JOSEError(.invalidClaimType, "\(name) is not a string", claim: name)
      }
    }
    return try JWTClaims(members)
  }

  /// RFC 9701 section 5: who answers, to whom, and when. What the answer says stands in `token_introspection`.
  func envelope(for resourceServer: String) -> TokenProfile {
    TokenProfile(
      algorithms: configuration.algorithms(narrowedTo: nil),
      clientSecret: configuration.clientSecret,
      encryption: configuration.encryption.optional,
      outerTypes: ["JWT", "token-introspection+jwt"],
      headerRules: [
        SymmetricAudienceRule(),
        TokenTypeRule(accepted: ["token-introspection+jwt"], mayBeAbsent: false),
        ContentTypeRule(),
      ],
      claimRules: [
        IssuerRule(issuer: configuration.issuer),
        AudienceRule(audience: resourceServer),
        ExpirationRule(mayBeAbsent: true),
        NotBeforeRule(),
        IssuedAtRule(),
      ],
      clockSkew: IDTokenConfiguration.bounded(expectations.clockSkew ?? configuration.clockSkew),
      now: expectations.now,
      fingerprint: nil)
  }
}
