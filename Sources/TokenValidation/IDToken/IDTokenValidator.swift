public import HTTPMessages
public import JOSE
public import KeySets
public import PosternSupport

/// Validates ID tokens (OpenID Connect Core section 3.1.3.7 and what the other flows add to it).
///
/// The order of the checks is fixed: encoding, header and algorithm, choice of key, signature, claims; the verdict
/// names the first that failed. A value without state of its own beside the cache it shares; use one for everything.
public struct IDTokenValidator: Sendable {
  private let verification: TokenVerification

  /// A validator that judges by `clock`. `cache` nil switches the cache of verdicts off.
  public init(
    clock: some EngineClock, cache: VerdictCache? = VerdictCache(), limits: TokenLimits = TokenLimits()
  ) {
    verification = TokenVerification(limits: limits, cache: cache, clock: clock)
  }

  /// The verdict on `idToken` by `configuration` and what this call expects of it.
  ///
  /// A bad token is a verdict. Throws only when it cannot be decided: there is no key set to be had until `deadline`.
  public func validate(
    _ idToken: String, expecting expectations: IDTokenExpectations, configuration: IDTokenConfiguration,
    keys: any KeySource, deadline: Deadline = .never
  ) async throws(KeySetError) -> TokenVerdict {
    let policy = IDTokenPolicy(configuration: configuration, expectations: expectations)
    return try await verification.verdict(
      on: idToken, by: policy.profile(limits: verification.limits, isKept: verification.keepsVerdicts), keys: keys,
      deadline: deadline)
  }

  /// The call as `ValidationManager` had it: a token, the authorization code and nonce of the request, the client,
  /// where the keys are, and what is configured.
  ///
  /// The flow says what must be there, as in every other call: `c_hash` in a token that came beside the code from the
  /// authorization endpoint (`.hybrid()`; OpenID Connect Core section 3.3.2.11). In one from the token endpoint
  /// (`.code`) it may be left out (section 3.1.3.6), and is compared where it is there and a code is given.
  public func validate(
    idTokenString: String, authorizationCode: String?, clientID: String, nonce: String, flow: TokenFlow = .code,
    keys: any KeySource, configuration: IDTokenConfiguration, deadline: Deadline = .never
  ) async throws(KeySetError) -> TokenVerdict {
    let expectations = IDTokenExpectations(
      clientID: clientID, nonce: nonce, authorizationCode: authorizationCode.map { Secret($0) }, flow: flow)
    return try await validate(
      idTokenString, expecting: expectations, configuration: configuration, keys: keys, deadline: deadline)
  }

  /// The same with the keys of `jwksURL`, fetched and kept by `keySets` under all of its rules.
  public func validate(
    idTokenString: String, authorizationCode: String?, clientID: String, nonce: String, flow: TokenFlow = .code,
    jwksURL: HTTPURL, keySets: KeySetStore, configuration: IDTokenConfiguration, deadline: Deadline = .never
  ) async throws(KeySetError) -> TokenVerdict {
    try await validate(
      idTokenString: idTokenString, authorizationCode: authorizationCode, clientID: clientID, nonce: nonce, flow: flow,
      keys: keySets.source(at: jwksURL), configuration: configuration, deadline: deadline)
  }
}
