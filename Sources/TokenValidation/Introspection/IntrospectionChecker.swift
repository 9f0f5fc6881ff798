public import JOSE
public import OAuthClient
public import PosternJSON
public import PosternSupport

/// Checks the answer of an introspection endpoint (RFC 7662 section 2.2, RFC 9701): a function over the body, without
/// HTTP.
public struct IntrospectionChecker: Sendable {
  private let verification: TokenVerification
  private let limits: TokenLimits
  private let clock: any EngineClock

  /// A checker with the time of `clock`.
  public init(clock: some EngineClock, limits: TokenLimits = TokenLimits()) {
    verification = TokenVerification(limits: limits, cache: nil, clock: clock)
    self.limits = limits
    self.clock = clock
  }

  /// Returns the verdict by an answer that is a JSON object.
  ///
  /// `active` must be present and a boolean: everything else is `malformed`.
  public func verdict(
    body: [UInt8], expecting expectations: IntrospectionExpectations, configuration: IDTokenConfiguration
  ) throws(IntrospectionError) -> IntrospectionVerdict {
    let value: JSONValue
    do throws(JSONParseError) {
      value = try JSONParser(maxBytes: limits.maxBytes, maxDepth: limits.maxDepth).parse(body)
    } catch {
      throw .malformed("introspection response: \(error)")
    }
    guard let members = value.objectValue else { throw .malformed("introspection response is not a JSON object") }
    return try verdict(members: members, expecting: expectations, configuration: configuration)
  }

  /// Returns the verdict by the members of an answer.
  public func verdict(
    members: JSONObject, expecting expectations: IntrospectionExpectations, configuration: IDTokenConfiguration
  ) throws(IntrospectionError) -> IntrospectionVerdict {
    guard members["active"]?.boolValue != nil else {
      throw .malformed("introspection response has no active member that is a boolean")
    }
    let policy = IntrospectionPolicy(configuration: configuration, expectations: expectations)
    let claims: JWTClaims
    do throws(JOSEError) {
      claims = try policy.claims(members)
    } catch {
      return .invalid(TokenFault(error))
    }
    let context = RuleContext(
      claims: claims, signer: nil, now: expectations.now ?? clock.wallNow,
      clockSkew: IDTokenConfiguration.bounded(expectations.clockSkew ?? configuration.clockSkew))
    if let fault = context.firstFault(of: policy.rules) { return .invalid(fault) }
    return .valid(claims: members)
  }

  /// Returns the verdict by a signed answer (`application/token-introspection+jwt`) for the resource server
  /// `resourceServer`, as which the request was authenticated.
  public func verdict(
    signedBody: String, resourceServer: String, expecting expectations: IntrospectionExpectations,
    configuration: IDTokenConfiguration, keys: any KeySource, in scope: CallScope = CallScope()
  ) async throws(IntrospectionError) -> IntrospectionVerdict {
    let policy = IntrospectionPolicy(configuration: configuration, expectations: expectations)
    let envelope: TokenVerdict
    do throws(KeySetError) {
      envelope = try await verification.verdict(
        on: signedBody, by: policy.envelope(for: resourceServer), keys: keys, in: scope)
    } catch {
      throw .undecided(error)
    }
    if let fault = envelope.fault { throw .unverified(fault) }
    guard let members = envelope.claims?["token_introspection"]?.objectValue else {
      throw .malformed("signed introspection response has no token_introspection object")
    }
    return try verdict(members: members, expecting: expectations, configuration: configuration)
  }
}

/// The requirements of one call for an introspected token.
public struct IntrospectionExpectations: Sendable {
  /// The audience of the token; nil: not checked.
  public var audience: String?
  /// The scopes that must all be granted.
  public var requiredScopes: [String]
  /// The client that presents the token, where it is known.
  public var clientID: String?
  /// The type that the token is used as: `Bearer`, `DPoP`; nil: not checked.
  public var tokenType: String?
  /// Replaces the configured clock skew; at most 300 s.
  public var clockSkew: Duration?
  /// The time of the validation; nil for now.
  public var now: Timestamp?

  /// Expectations of the given parts; the others keep their defaults until they are set.
  public init(
    audience: String? = nil, requiredScopes: [String] = [], clientID: String? = nil, tokenType: String? = nil
  ) {
    self.audience = audience
    self.requiredScopes = requiredScopes
    self.clientID = clientID
    self.tokenType = tokenType
  }
}

/// The rules for an introspected token by a configuration and one call's expectations.
struct IntrospectionPolicy: Sendable {
  let configuration: IDTokenConfiguration
  let expectations: IntrospectionExpectations

  /// The rules of RFC 7662 section 2.2: every member but `active` may be absent.
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

  /// Returns the members with their types checked. An inactive token needs no other member, so that none is checked.
  func claims(_ members: JSONObject) throws(JOSEError) -> JWTClaims {
    guard members["active"]?.boolValue == true else { return try JWTClaims(["active": false]) }
    for name in ["scope", "token_type"] {
      guard members[name] == nil || members[name]?.stringValue != nil else {
        throw JOSEError(.invalidClaimType, "\(name) is not a string", claim: name)
      }
    }
    return try JWTClaims(members)
  }

  /// The profile of the signed envelope (RFC 9701 section 5): its issuer, audience and times. The answer itself is in
  /// `token_introspection`.
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

/// The meaning of an authorization server's answer for a token.
public enum IntrospectionVerdict: Sendable {
  /// The token is active and meets all requirements. `claims` are the members of the answer.
  case valid(claims: JSONObject)
  /// The token is invalid, with the first violation.
  case invalid(TokenFault)
}

extension IntrospectionVerdict {
  /// The violation of an invalid token.
  public var fault: TokenFault? { if case .invalid(let fault) = self { fault } else { nil } }
}

extension IntrospectionChecker: ConciseStringConvertible {}

extension IntrospectionExpectations: ConciseStringConvertible {
  /// Audience and scope.
  public var description: String {
    Concise.text(
      "expectations", audience.map { "audience \(Concise.name($0))" },
      requiredScopes.isEmpty ? nil : Concise.list(requiredScopes, of: "scope"),
      clientID.map { "client \(Concise.name($0))" })
  }
}

extension IntrospectionVerdict: ConciseStringConvertible {
  /// The verdict: names of claims only.
  public var description: String {
    switch self {
    case .valid(let claims): "valid, \(Concise.list(claims.names, of: "claim"))"
    case .invalid(let fault): "invalid, \(fault)"
    }
  }
}
