import AuthEngine
import JOSE
import PosternJSON
import PosternSupport

/// The invariants of verdicts on ID tokens, access tokens and logout tokens.
enum IDTokenInvariants {
  static func check(_ input: TokenInput, isReadable: Bool) async throws -> TokenInvariants.Outcome {
    var outcome: TokenInvariants.Outcome = []
    let validator = IDTokenValidator(clock: TokenPolicies.clock, cache: nil)
    for policy in TokenPolicies.all {
      let verdict = try await validator.validate(
        input.text, expecting: policy.expectations, configuration: policy.configuration, keys: TokenPolicies.keys)
      let isValid = try accepts(verdict, input, isReadable: isReadable, by: policy.oracle)
      if isValid { outcome.insert(.idToken) }
      if isValid || policy.isPlain { try await checkCache(verdict, input, policy) }
    }
    let configuration = TokenPolicies.configuration
    var access = AccessTokenExpectations(audience: "shop", requiredScopes: ["read"])
    access.clockSkew = .seconds(10)
    let accessVerdict = try await AccessTokenValidator(clock: TokenPolicies.clock, cache: nil)
      .validate(input.text, expecting: access, configuration: configuration, keys: TokenPolicies.keys)
    let accessOracle = ClaimOracle(needed: ["client_id", "jti", "scope"], types: ["at+jwt", "application/at+jwt"])
    if try accepts(accessVerdict, input, isReadable: isReadable, by: accessOracle) { outcome.insert(.accessToken) }
    let logoutVerdict = try await LogoutTokenValidator(clock: TokenPolicies.clock).validate(
      input.text, expecting: LogoutTokenExpectations(clientID: "shop"), configuration: configuration,
      keys: TokenPolicies.keys)
    let logoutOracle = ClaimOracle(
      needed: ["jti", "events"], forbidden: ["nonce"], types: ["logout+jwt", "application/logout+jwt", "jwt", nil],
      needsSubject: false)
    if try accepts(logoutVerdict, input, isReadable: isReadable, by: logoutOracle) { outcome.insert(.logoutToken) }
    return outcome
  }

  private static func accepts(
    _ verdict: TokenVerdict, _ input: TokenInput, isReadable: Bool, by oracle: ClaimOracle
  ) throws -> Bool {
    if let fault = verdict.fault {
      try demand(!"\(fault)".contains(FixedMaterial.clientSecret), "a fault has the client secret")
      return false
    }
    guard case .valid(let claims, let header, let key, let isCached) = verdict else { return false }
    try demand(isReadable && input.isMadeHere && !isCached, "a forged token is valid")
    try demand(["HS256", "EdDSA", "Ed25519"].contains(key.alg), "valid under \(key.alg), which no signature used")
    try demand(header["alg"]?.stringValue == key.alg && header["crit"] == nil, "the header is another one")
    try oracle.check(claims: claims, header: header)
    return true
  }

  /// A verdict from the cache is the verdict without it, and one that rests on a shared secret is never kept.
  private static func checkCache(_ verdict: TokenVerdict, _ input: TokenInput, _ policy: TokenPolicies.Policy)
    async throws
  {
    let cache = VerdictCache()
    let validator = IDTokenValidator(clock: TokenPolicies.clock, cache: cache)
    for round in 0..<2 {
      let again = try await validator.validate(
        input.text, expecting: policy.expectations, configuration: policy.configuration, keys: TokenPolicies.keys)
      try demand(again.fault == verdict.fault, "the verdict changed: \(String(describing: again.fault))")
      try demand(again.claims == verdict.claims, "the claims changed")
      guard case .valid(_, _, let key, let isCached) = again else { continue }
      let mayBeKept = !key.alg.hasPrefix("HS") && input.text.utf8.count { $0 == UInt8(ascii: ".") } == 2
      try demand(isCached == (mayBeKept && round == 1), "kept or not kept against the rule")
    }
    if !verdict.isValid { try demand(cache.count == 0, "an invalid token is cached") }
  }
}
