import HTTPMessages
import PosternSupport

/// A proof that has gone out: what its answer says is about this.
package struct DPoPProof: Sendable {
  /// Whose proofs a server judges: what it says of one key in one user's requests is nothing about any other.
  struct Place: Hashable, Sendable {
    let origin: HTTPURL.Origin
    let thumbprint: String
    let uid: UInt32
  }

  let place: Place
  let terms: DPoPTerms
  /// When it was made, by the wall clock.
  let madeAt: Timestamp
}
