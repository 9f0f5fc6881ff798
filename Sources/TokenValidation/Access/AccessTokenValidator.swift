public import JOSE
public import OAuthClient
public import PosternSupport

/// Validates JWT access tokens (RFC 9068 section 4, and other formats). The order of checks and the verdicts are those of
/// ID tokens.
public struct AccessTokenValidator: Sendable {
  private let verification: TokenVerification

  /// A validator with the time of `clock`. `cache` nil switches the cache of verdicts off; one may be shared with the
  /// validator of ID tokens, since a cached verdict belongs to its whole policy.
  public init(
    clock: some EngineClock, cache: VerdictCache? = VerdictCache(), limits: TokenLimits = TokenLimits()
  ) {
    verification = TokenVerification(limits: limits, cache: cache, clock: clock)
  }

  /// Returns the verdict on `accessToken`. Throws only when no verdict is possible: no key set is available until
  /// the scope's deadline.
  public func validate(
    _ accessToken: String, expecting expectations: AccessTokenExpectations, configuration: IDTokenConfiguration,
    keys: any KeySource, in scope: CallScope = CallScope()
  ) async throws(KeySetError) -> TokenVerdict {
    let policy = AccessTokenPolicy(configuration: configuration, expectations: expectations)
    return try await verification.verdict(
      on: accessToken, by: policy.profile(isKept: verification.keepsVerdicts), keys: keys, in: scope)
  }
}

/// The requirements of one call for a JWT access token.
public struct AccessTokenExpectations: Sendable {
  /// The resource that the token must be for.
  public var audience: String
  /// The scopes that must all be granted.
  public var requiredScopes: [String]
  /// The client that presents the token, where it is known.
  public var clientID: String?
  /// The key whose possession the presenter has proven. Nil: none, and a token that is bound to a key is invalid.
  public var confirmation: TokenConfirmation?
  /// Replaces the configured clock skew; at most 300 s.
  public var clockSkew: Duration?
  /// The time of the validation; nil for now.
  public var now: Timestamp?
  /// Replaces the configured format.
  public var format: Format?
  /// Whether audience, binding and scope are left to a `PresentedTokenPolicy`, so that one verification serves every
  /// requirement. Never without one.
  var isJudgedByPolicy = false

  /// Expectations of the given parts; the others keep their defaults until they are set.
  public init(
    audience: String, requiredScopes: [String] = [], clientID: String? = nil, confirmation: TokenConfirmation? = nil
  ) {
    self.audience = audience
    self.requiredScopes = requiredScopes
    self.clientID = clientID
    self.confirmation = confirmation
  }

  /// The expectations of a token whose audience, binding and scope a `PresentedTokenPolicy` judges.
  static func judgedByPolicy() -> AccessTokenExpectations {
    var expectations = AccessTokenExpectations(audience: "")
    expectations.isJudgedByPolicy = true
    return expectations
  }
}

/// The rules for an access token by a configuration and one call's expectations.
struct AccessTokenPolicy: Sendable {
  let configuration: IDTokenConfiguration
  let expectations: AccessTokenExpectations

  var format: AccessTokenExpectations.Format { expectations.format ?? configuration.accessTokenFormat }

  /// The profile of RFC 9068 section 4, or that of another format: no ID token passes for an access token.
  func profile(isKept: Bool) -> TokenProfile {
    TokenProfile(
      algorithms: configuration.algorithms(narrowedTo: nil),
      clientSecret: configuration.clientSecret,
      encryption: configuration.encryption.optional,
      outerTypes: ["JWT", "at+jwt"],
      // PingAM's `scope` is a list.
      stringClaims: format == .jwt ? [] : ["scope"],
      headerRules: [
        SymmetricAudienceRule(),
        AccessTokenHeaderRule(format: format, provider: configuration.likelyProvider),
        ContentTypeRule(),
      ],
      claimRules: claimRules,
      clockSkew: IDTokenConfiguration.bounded(expectations.clockSkew ?? configuration.clockSkew),
      now: expectations.now,
      fingerprint: isKept ? fingerprint : nil)
  }

  private var claimRules: [any ClaimRule] {
    var rules: [any ClaimRule] = [
      IssuerRule(issuer: configuration.issuer, others: configuration.otherIssuers),
      SubjectRule(),
    ]
    if !expectations.isJudgedByPolicy { rules.append(AudienceRule(audience: expectations.audience, format: format)) }
    rules.append(
      AccessTokenEvidenceRule(format: format, clientID: configuration.clientID, presenter: expectations.clientID))
    rules += [
      ExpirationRule(),
      NotBeforeRule(),
      IssuedAtRule(maximumAge: configuration.maximumTokenAge),
    ]
    rules.append(AccessTokenIdentifierRule(format: format))
    if expectations.isJudgedByPolicy { return rules }
    return rules + [
      ConfirmationRule(shown: expectations.confirmation),
      ScopeRule(required: expectations.requiredScopes, format: format),
    ]
  }

  var fingerprint: PolicyFingerprint {
    var fingerprint = PolicyFingerprint(kind: "at+jwt")
    fingerprint.add(PreparedTokenRules(configuration))
    fingerprint.add(expectations.audience)
    fingerprint.add(expectations.requiredScopes)
    fingerprint.add(expectations.clientID)
    fingerprint.add(expectations.confirmation?.member.name)
    fingerprint.add(expectations.confirmation?.member.value)
    fingerprint.add(expectations.clockSkew)
    fingerprint.add(format.rawValue)
    fingerprint.add(expectations.isJudgedByPolicy)
    return fingerprint
  }
}

/// The key whose possession the presenter of an access token has proven, by its thumbprint.
public enum TokenConfirmation: Sendable, Hashable {
  /// The thumbprint of the key of a DPoP proof (RFC 9449 section 6.1).
  case jkt(String)
  /// The thumbprint of the client certificate, SHA-256, base64url (RFC 8705 section 3.1).
  case x5tS256(String)

  /// The member of `cnf` with its value.
  var member: (name: String, value: String) {
    switch self {
    case .jkt(let thumbprint): ("jkt", thumbprint)
    case .x5tS256(let thumbprint): ("x5t#S256", thumbprint)
    }
  }
}

extension AccessTokenValidator: ConciseStringConvertible {}

extension AccessTokenExpectations: ConciseStringConvertible {
  /// Audience and scope.
  public var description: String {
    Concise.text(
      "audience \(Concise.name(audience))", requiredScopes.isEmpty ? nil : Concise.list(requiredScopes, of: "scope"),
      clientID.map { "client \(Concise.name($0))" })
  }
}

extension TokenConfirmation: ConciseStringConvertible {
  /// The member of `cnf`: a public thumbprint.
  public var description: String { "\(member.name) \(Concise.name(member.value))" }
}
