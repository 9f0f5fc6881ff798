public import HTTPMessages
public import JOSE
public import OAuthClient
public import PosternSupport

/// Validates ID tokens (OpenID Connect Core section 3.1.3.7 and the rules of the other flows).
///
/// The order of the checks is fixed: encoding, header and algorithm, choice of key, signature, claims; the verdict
/// names the first violation. A value whose only state is the shared cache; one validator is enough.
public struct IDTokenValidator: Sendable {
  private let verification: TokenVerification

  /// A validator with the time of `clock`. `cache` nil switches the cache of verdicts off.
  public init(
    clock: some EngineClock, cache: VerdictCache? = VerdictCache(), limits: TokenLimits = TokenLimits()
  ) {
    verification = TokenVerification(limits: limits, cache: cache, clock: clock)
  }

  /// Returns the verdict on `idToken` by `configuration` and the call's expectations.
  ///
  /// An invalid token is a verdict, and so is none (`missing_token`). Throws only when no verdict is possible: no key
  /// set is available until the scope's deadline.
  public func validate(
    _ idToken: String?, expecting expectations: IDTokenExpectations, configuration: IDTokenConfiguration,
    keys: any KeySource, in scope: CallScope = CallScope()
  ) async throws(KeySetError) -> TokenVerdict {
    guard let idToken else { return .invalid(TokenFault(.missingToken, "there is no ID token")) }
    return try await validate(
      idToken, expecting: expectations, by: PreparedTokenRules(configuration), keys: keys, in: scope)
  }

  /// Returns the verdict on `idToken` by a configuration that has been prepared for many calls.
  package func validate(
    _ idToken: String, expecting expectations: IDTokenExpectations, by rules: PreparedTokenRules,
    keys: any KeySource, in scope: CallScope
  ) async throws(KeySetError) -> TokenVerdict {
    try await verification.verdict(on: idToken, by: profile(rules, expectations), keys: keys, in: scope)
  }

  /// Returns the verdict of `validate` on a token whose signature was verified in an earlier call; nil when it was not,
  /// or the key set has to be waited for.
  package func knownVerdict(
    on idToken: String, expecting expectations: IDTokenExpectations, by rules: PreparedTokenRules, keys: any KeySource
  ) -> KnownVerdict? {
    verification.knownVerdict(on: idToken, by: profile(rules, expectations), keys: keys)
  }

  private func profile(_ rules: PreparedTokenRules, _ expectations: IDTokenExpectations) -> TokenProfile {
    IDTokenPolicy(prepared: rules, expectations: expectations)
      .profile(limits: verification.limits, isKept: verification.keepsVerdicts)
  }

  /// Validates with the parameters of `ValidationManager`: a token, the authorization code and nonce of the request,
  /// the client, the keys, and the configuration.
  ///
  /// The flow decides which claims are required, as in every other call: `c_hash` in a token that came with the code
  /// from the authorization endpoint (`.hybrid()`; OpenID Connect Core section 3.3.2.11). In a token from the token
  /// endpoint (`.code`) it may be absent (section 3.1.3.6), and is compared where it is present and a code is given.
  public func validate(
    idTokenString: String?, authorizationCode: String?, clientID: String, nonce: String, flow: TokenFlow = .code,
    keys: any KeySource, configuration: IDTokenConfiguration, in scope: CallScope = CallScope()
  ) async throws(KeySetError) -> TokenVerdict {
    let expectations = IDTokenExpectations(
      clientID: clientID, nonce: nonce, authorizationCode: authorizationCode.map { Secret($0) }, flow: flow)
    return try await validate(
      idTokenString, expecting: expectations, configuration: configuration, keys: keys, in: scope)
  }

  /// Validates with the keys of `jwksURL`, which `keySets` fetches and caches.
  public func validate(
    idTokenString: String?, authorizationCode: String?, clientID: String, nonce: String, flow: TokenFlow = .code,
    jwksURL: HTTPURL, keySets: KeySetStore, configuration: IDTokenConfiguration, in scope: CallScope = CallScope()
  ) async throws(KeySetError) -> TokenVerdict {
    try await validate(
      idTokenString: idTokenString, authorizationCode: authorizationCode, clientID: clientID, nonce: nonce, flow: flow,
      keys: keySets.source(at: jwksURL), configuration: configuration, in: scope)
  }
}

extension IDTokenValidator: ConciseStringConvertible {}
