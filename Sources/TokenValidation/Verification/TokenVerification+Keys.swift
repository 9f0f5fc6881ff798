import JOSE
import KeySets
import PosternJSON
import PosternSupport

extension TokenVerification {
  /// The one key that may verify a token with `header`: the client secret for a symmetric algorithm, else a key of the
  /// issuer's set, which is asked for a newer one when none has the header's `kid`.
  static func key(
    for header: JOSEHeader, algorithm: SignatureAlgorithm, by profile: TokenProfile, keys: any KeySource,
    deadline: Deadline
  ) async throws(VerificationFailure) -> JWK {
    if algorithm.isSymmetric {
      guard let secret = profile.clientSecret else {
        throw .refused(TokenFault(.algNotAllowed, "there is no client secret to verify with", claim: "alg"))
      }
      return .clientSecret(secret)
    }
    let snapshot = try await keySet(of: keys, deadline: deadline)
    do throws(TokenFault) {
      return try key(for: header, algorithm: algorithm, in: snapshot.keys)
    } catch {
      guard error.code == .keyNotFound, header.keyID != nil,
        let newer = try await newerKeySet(
          of: keys, than: snapshot, holding: { (try? key(for: header, algorithm: algorithm, in: $0)) != nil },
          deadline: deadline)
      else { throw .refused(error) }
      do throws(TokenFault) {
        return try key(for: header, algorithm: algorithm, in: newer.keys)
      } catch {
        throw .refused(error)
      }
    }
  }

  /// The set in force.
  static func keySet(
    of keys: any KeySource, deadline: Deadline
  ) async throws(VerificationFailure) -> KeySetSnapshot {
    do throws(KeySetError) {
      return try await keys.keySet(deadline: deadline)
    } catch {
      throw .undecided(error)
    }
  }

  private static func newerKeySet(
    of keys: any KeySource, than snapshot: KeySetSnapshot, holding isSought: @escaping @Sendable (JWKSet) -> Bool,
    deadline: Deadline
  ) async throws(VerificationFailure) -> KeySetSnapshot? {
    do throws(KeySetError) {
      return try await keys.keySet(newerThan: snapshot, holding: isSought, deadline: deadline)
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
