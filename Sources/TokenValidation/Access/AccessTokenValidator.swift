public import JOSE
public import KeySets
public import PosternSupport

/// Validates JWT access tokens (RFC 9068 section 4). Order of checks and verdicts as for ID tokens.
public struct AccessTokenValidator: Sendable {
  private let verification: TokenVerification

  /// A validator that judges by `clock`. `cache` nil switches the cache of verdicts off; one may be shared with the
  /// validator of ID tokens, since a kept verdict belongs to its whole policy.
  public init(
    clock: some EngineClock, cache: VerdictCache? = VerdictCache(), limits: TokenLimits = TokenLimits()
  ) {
    verification = TokenVerification(limits: limits, cache: cache, clock: clock)
  }

  /// The verdict on `accessToken`. Throws only when it cannot be decided: there is no key set to be had until
  /// `deadline`.
  public func validate(
    _ accessToken: String, expecting expectations: AccessTokenExpectations, configuration: IDTokenConfiguration,
    keys: any KeySource, deadline: Deadline = .never
  ) async throws(KeySetError) -> TokenVerdict {
    let policy = AccessTokenPolicy(configuration: configuration, expectations: expectations)
    return try await verification.verdict(
      on: accessToken, by: policy.profile(isKept: verification.keepsVerdicts), keys: keys, deadline: deadline)
  }
}
