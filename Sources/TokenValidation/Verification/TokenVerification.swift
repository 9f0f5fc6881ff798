import JOSE
import OAuthClient
package import PosternJSON
import PosternSupport

/// The validation of any kind of token, with violations in a fixed order: encoding, header and algorithm, choice of
/// key, signature, claims.
struct TokenVerification: Sendable {
  let limits: TokenLimits
  let cache: VerdictCache?
  let clock: any EngineClock

  /// Whether profiles need a fingerprint.
  var keepsVerdicts: Bool { cache != nil }

  /// Returns the verdict on `token` by `profile`. Throws only when there are no keys to verify it with.
  func verdict(
    on token: String, by profile: TokenProfile, keys: any KeySource, in scope: CallScope
  ) async throws(KeySetError) -> TokenVerdict {
    do throws(VerificationFailure) {
      let entry = cacheEntry(for: token, by: profile)
      if let entry, let known = cache?.token(for: entry),
        try isStillValid(known, entry, by: profile, in: await Self.keySet(of: keys, in: scope))
      {
        return known.verdict
      }
      let (verified, mayBeKept) = try await verify(token, by: profile, keys: keys, in: scope)
      try judge(verified, by: profile)
      if let entry, mayBeKept { cache?.keep(verified, for: entry, of: scope.uid) }
      return verified.verdict(cached: false)
    } catch {
      switch error {
      case .invalid(let fault): return .invalid(fault)
      case .undecided(let error): throw error
      }
    }
  }

  private func cacheEntry(for token: String, by profile: TokenProfile) -> VerdictKey? {
    guard cache != nil, token.utf8.count <= limits.maxBytes else { return nil }
    return profile.fingerprint.map { VerdictKey(token: token, policy: $0) }
  }

  /// Returns the verdict on a cached token, if the key set is there without waiting; nil otherwise.
  func knownVerdict(on token: String, by profile: TokenProfile, keys: any KeySource) -> KnownVerdict? {
    guard let entry = cacheEntry(for: token, by: profile), let known = cache?.token(for: entry),
      let keySet = keys.currentKeySet
    else { return nil }
    do throws(VerificationFailure) {
      return try isStillValid(known, entry, by: profile, in: keySet) ? .valid(known) : nil
    } catch {
      guard case .invalid(let fault) = error else { return nil }
      return .invalid(fault)
    }
  }

  /// Whether the issuer's key set still has the key of a cached token, after its claims have been checked again. A key
  /// that was removed from the set invalidates its verdicts.
  private func isStillValid(
    _ known: KnownToken, _ entry: VerdictKey, by profile: TokenProfile, in keySet: KeySetSnapshot
  ) throws(VerificationFailure) -> Bool {
    let token = known.token
    guard let key = try? keySet.keys.verificationKey(for: token.header, algorithm: token.algorithm),
      let thumbprint = key.thumbprint, thumbprint == token.key.thumbprint
    else {
      cache?.remove(entry)
      return false
    }
    do throws(VerificationFailure) {
      try judge(token, by: profile)
    } catch {
      cache?.remove(entry)
      throw error
    }
    return true
  }

  private func verify(
    _ token: String, by profile: TokenProfile, keys: any KeySource, in scope: CallScope
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
      throw .invalid(error)
    }
    let header = reading.jws.header
    let key = try await Self.key(for: header, algorithm: algorithm, by: profile, keys: keys, in: scope)
    do throws(JOSEError) {
      try reading.jws.verifiedPayload(with: key, algorithm: algorithm)
    } catch {
      throw .invalid(TokenFault(error))
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
      if case .failed(let fault) = rule.outcome(for: header, claims: reading.claims) { throw fault }
    }
    return algorithm
  }

  private func judge(_ token: VerifiedToken, by profile: TokenProfile) throws(VerificationFailure) {
    let context = RuleContext(
      claims: token.claims, signer: RuleContext.Signer(algorithm: token.algorithm, key: token.key),
      now: profile.now ?? clock.wallNow, clockSkew: profile.clockSkew, header: token.header)
    if let outer = token.outerHeader, let fault = context.firstFault(of: [ReplicatedClaimsRule(outer: outer)]) {
      throw .invalid(fault)
    }
    if let fault = context.firstFault(of: profile.claimRules) { throw .invalid(fault) }
  }
}

extension TokenVerification {
  /// Returns the one key that may verify a token with `header`: the client secret for a symmetric algorithm, else a key
  /// of the issuer's set, which is fetched again when no key has the header's `kid`.
  static func key(
    for header: JOSEHeader, algorithm: SignatureAlgorithm, by profile: TokenProfile, keys: any KeySource,
    in scope: CallScope
  ) async throws(VerificationFailure) -> JWK {
    if algorithm.isSymmetric {
      guard let secret = profile.clientSecret else {
        throw .invalid(TokenFault(.algNotAllowed, "there is no client secret to verify with", claim: "alg"))
      }
      return .clientSecret(secret)
    }
    let snapshot = try await keySet(of: keys, in: scope)
    do throws(TokenFault) {
      return try key(for: header, algorithm: algorithm, in: snapshot.keys)
    } catch {
      guard error.code == .keyNotFound, header.keyID != nil,
        let newer = try await newerKeySet(
          of: keys, than: snapshot, holding: { (try? key(for: header, algorithm: algorithm, in: $0)) != nil },
          in: scope)
      else { throw .invalid(error) }
      do throws(TokenFault) {
        return try key(for: header, algorithm: algorithm, in: newer.keys)
      } catch {
        throw .invalid(error)
      }
    }
  }

  /// Returns the current key set.
  static func keySet(
    of keys: any KeySource, in scope: CallScope
  ) async throws(VerificationFailure) -> KeySetSnapshot {
    do throws(KeySetError) {
      return try await keys.keySet(in: scope)
    } catch {
      throw .undecided(error)
    }
  }

  private static func newerKeySet(
    of keys: any KeySource, than snapshot: KeySetSnapshot, holding isSought: @escaping @Sendable (JWKSet) -> Bool,
    in scope: CallScope
  ) async throws(VerificationFailure) -> KeySetSnapshot? {
    do throws(KeySetError) {
      return try await keys.keySet(newerThan: snapshot, holding: isSought, in: scope)
    } catch {
      throw .undecided(error)
    }
  }

  private static func key(
    for header: JOSEHeader, algorithm: SignatureAlgorithm, in set: JWKSet
  ) throws(TokenFault) -> JWK {
    do throws(JOSEError) {
      return try set.verificationKey(for: header, algorithm: algorithm)
    } catch {
      throw TokenFault(error, actual: error.claim == "kid" ? header.keyID.map { .string($0) } : nil)
    }
  }
}

/// The rules of one call for one kind of token, which `TokenVerification` checks.
struct TokenProfile: Sendable {
  /// The accepted signature algorithms.
  let algorithms: [SignatureAlgorithm]
  /// The key of the symmetric algorithms.
  let clientSecret: Secret<String>?
  let encryption: TokenEncryptionPolicy
  /// The accepted `typ` values in the header of an encrypted token, which may also have none.
  var outerTypes = ["JWT"]
  /// Additional claims that must be strings.
  var stringClaims: [String] = []
  let headerRules: [any HeaderRule]
  let claimRules: [any ClaimRule]
  let clockSkew: Duration
  /// The time of the validation; nil for now.
  let now: Timestamp?
  /// All of the above in bytes; nil where no verdict is to be cached.
  let fingerprint: PolicyFingerprint?
}

/// A token whose signature has been verified.
struct VerifiedToken: Sendable {
  let header: JOSEHeader
  /// The header of the encryption; nil where there was none.
  let outerHeader: JOSEHeader?
  let claims: JWTClaims
  let algorithm: SignatureAlgorithm
  let key: JWK

  /// Returns the verdict, after the claims have been checked.
  func verdict(cached: Bool) -> TokenVerdict {
    .valid(
      claims: claims.members, header: header.parameters,
      key: TokenKey(kid: key.keyID, alg: algorithm.name, thumbprint: key.thumbprint), cached: cached)
  }
}

/// A token whose signature was verified in an earlier call.
package final class KnownToken: Sendable {
  let token: VerifiedToken
  private let answer = Locked<JSONText?>(nil)

  init(_ token: VerifiedToken) { self.token = token }

  /// The verdict, after the claims have been checked again.
  package var verdict: TokenVerdict { token.verdict(cached: true) }

  /// The verdict as `write` writes it, the first time: the same for every call that finds the token. For one method
  /// alone, since tokens of several policies share nothing.
  package func answer(_ write: (TokenVerdict) -> JSONText) -> JSONText {
    if let known = answer.withLock({ $0 }) { return known }
    let text = write(verdict)
    answer.withLock { $0 = text }
    return text
  }
}

/// The verdict on a known token.
package enum KnownVerdict: Sendable {
  /// The claims still meet the requirements.
  case valid(KnownToken)
  /// They no longer do, with the first violation.
  case invalid(TokenFault)
}

/// The reason why a validation has no verified token.
enum VerificationFailure: Error, Sendable {
  /// The token is invalid.
  case invalid(TokenFault)
  /// There are no keys to verify it with.
  case undecided(KeySetError)
}
