import JOSE
import KeySets
import PosternJSON
import PosternSupport

/// The steps every kind of token goes through, in the order in which faults are told: encoding, header and algorithm,
/// choice of key, signature, claims.
struct TokenVerification: Sendable {
  let limits: TokenLimits
  let cache: VerdictCache?
  let clock: any EngineClock

  /// Whether profiles need a fingerprint.
  var keepsVerdicts: Bool { cache != nil }

  /// The verdict on `token` by `profile`. Throws only when there are no keys to judge it with.
  func verdict(
    on token: String, by profile: TokenProfile, keys: any KeySource, deadline: Deadline
  ) async throws(KeySetError) -> TokenVerdict {
    do throws(VerificationFailure) {
      let entry = cacheEntry(for: token, by: profile)
      if let entry, let known = try await known(entry, by: profile, keys: keys, deadline: deadline) {
        return known.verdict(cached: true)
      }
      let (verified, mayBeKept) = try await verify(token, by: profile, keys: keys, deadline: deadline)
      try judge(verified, by: profile)
      if let entry, mayBeKept { cache?.keep(verified, for: entry) }
      return verified.verdict(cached: false)
    } catch {
      switch error {
      case .refused(let fault): return .invalid(fault)
      case .undecided(let error): throw error
      }
    }
  }

  private func cacheEntry(for token: String, by profile: TokenProfile) -> VerdictKey? {
    guard cache != nil, token.utf8.count <= limits.maxBytes else { return nil }
    return profile.fingerprint.map { VerdictKey(token: token, policy: $0) }
  }

  /// What the cache holds, if the issuer's key set still means the same key for it, and judged anew by the clock. A key
  /// that has left the set takes its verdicts with it.
  private func known(
    _ entry: VerdictKey, by profile: TokenProfile, keys: any KeySource, deadline: Deadline
  ) async throws(VerificationFailure) -> VerifiedToken? {
    guard let cache, let known = cache.token(for: entry) else { return nil }
    let snapshot = try await Self.keySet(of: keys, deadline: deadline)
    guard let key = try? snapshot.keys.verificationKey(for: known.header, algorithm: known.algorithm),
      let thumbprint = key.thumbprint, thumbprint == known.key.thumbprint
    else {
      cache.remove(entry)
      return nil
    }
    do throws(VerificationFailure) {
      try judge(known, by: profile)
    } catch {
      cache.remove(entry)
      throw error
    }
    return known
  }

  private func verify(
    _ token: String, by profile: TokenProfile, keys: any KeySource, deadline: Deadline
  ) async throws(VerificationFailure) -> (token: VerifiedToken, mayBeKept: Bool) {
    let opened: OpenedToken
    let reading: TokenReading
    let algorithm: SignatureAlgorithm
    do throws(TokenFault) {
      opened = try profile.encryption.open(
        token, types: profile.outerTypes, clientSecret: profile.clientSecret, limits: limits)
      reading = try Self.read(opened, by: profile, limits: limits)
      algorithm = try Self.algorithm(of: reading, by: profile)
    } catch {
      throw .refused(error)
    }
    let header = reading.jws.header
    let key = try await Self.key(for: header, algorithm: algorithm, by: profile, keys: keys, deadline: deadline)
    do throws(JOSEError) {
      try reading.jws.verifiedPayload(with: key, algorithm: algorithm)
    } catch {
      throw .refused(TokenFault(error))
    }
    let verified = VerifiedToken(
      header: header, outerHeader: opened.outerHeader, claims: reading.claims, algorithm: algorithm, key: key)
    return (verified, !algorithm.isSymmetric && !opened.isUnderSharedSecret)
  }

  private static func read(
    _ token: OpenedToken, by profile: TokenProfile, limits: TokenLimits
  ) throws(TokenFault) -> TokenReading {
    do throws(JOSEError) {
      return try TokenReading(token, stringClaims: profile.stringClaims, limits: limits)
    } catch {
      throw TokenFault(error)
    }
  }

  private static func algorithm(
    of reading: TokenReading, by profile: TokenProfile
  ) throws(TokenFault) -> SignatureAlgorithm {
    let header = reading.jws.header
    let algorithm: SignatureAlgorithm
    do throws(JOSEError) {
      algorithm = try reading.jws.algorithm(allowed: profile.algorithms)
      if let fault = reading.headerFault { throw fault }
    } catch {
      guard error.claim == "alg" else { throw TokenFault(error) }
      throw TokenFault(
        error, expected: .array(profile.algorithms.map { .string($0.name) }), actual: .string(header.algorithm))
    }
    for rule in profile.headerRules {
      if case .failed(let fault) = rule.outcome(for: header, beside: reading.claims) { throw fault }
    }
    return algorithm
  }

  private func judge(_ token: VerifiedToken, by profile: TokenProfile) throws(VerificationFailure) {
    let context = RuleContext(
      claims: token.claims, signer: RuleContext.Signer(algorithm: token.algorithm, key: token.key),
      now: profile.now ?? clock.wallNow, clockSkew: profile.clockSkew)
    if let outer = token.outerHeader, let fault = context.firstFault(of: [ReplicatedClaimsRule(outer: outer)]) {
      throw .refused(fault)
    }
    if let fault = context.firstFault(of: profile.claimRules) { throw .refused(fault) }
  }
}
