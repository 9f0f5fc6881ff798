public import JOSE
public import KeySets
public import PosternJSON
public import PosternSupport

/// Judges what an introspection endpoint answered (RFC 7662 section 2.2, RFC 9701): a function over the body, without
/// HTTP.
public struct IntrospectionChecker: Sendable {
  private let verification: TokenVerification
  private let limits: TokenLimits
  private let clock: any EngineClock

  /// A checker that judges by `clock`.
  public init(clock: some EngineClock, limits: TokenLimits = TokenLimits()) {
    verification = TokenVerification(limits: limits, cache: nil, clock: clock)
    self.limits = limits
    self.clock = clock
  }

  /// The verdict from an answer that is a JSON object.
  ///
  /// `active` must be there and a boolean: everything else is no answer, and `malformed`.
  public func verdict(
    body: [UInt8], expecting expectations: IntrospectionExpectations, configuration: IDTokenConfiguration
  ) throws(IntrospectionError) -> IntrospectionVerdict {
    let value: JSONValue
    do throws(JSONParseError) {
      value = try JSONParser(maxBytes: limits.maxBytes, maxDepth: limits.maxDepth).parse(body)
    } catch {
      throw .malformed("introspection response is \(error)")
    }
    guard let members = value.objectValue else { throw .malformed("introspection response is not a JSON object") }
    return try verdict(members: members, expecting: expectations, configuration: configuration)
  }

  /// The verdict from the members of an answer.
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

  /// The verdict from a signed answer (`application/token-introspection+jwt`) for the resource server `resourceServer`,
  /// as which the request was authenticated.
  public func verdict(
    signedBody: String, resourceServer: String, expecting expectations: IntrospectionExpectations,
    configuration: IDTokenConfiguration, keys: any KeySource, deadline: Deadline = .never
  ) async throws(IntrospectionError) -> IntrospectionVerdict {
    let policy = IntrospectionPolicy(configuration: configuration, expectations: expectations)
    let envelope: TokenVerdict
    do throws(KeySetError) {
      envelope = try await verification.verdict(
        on: signedBody, by: policy.envelope(for: resourceServer), keys: keys, deadline: deadline)
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
