package import JOSE
package import PosternJSON
import PosternSupport

/// The key sets that callers pass along with a call, parsed once and kept by the digest of their text.
///
/// A user finds only what it has passed itself, and the user with the most loses its least recently used set first.
/// Sets with a private or shared key are never kept.
package final class GivenKeySets: Sendable {
  private struct Key: Hashable, Sendable {
    let uid: UInt32
    let digest: [UInt8]
  }

  /// More than an application has issuers.
  static let capacity = 1024
  /// The memory of all sets, approximately.
  static let maxBytes = 16 << 20
  /// The largest set that is kept: a few larger ones would displace all others.
  static let maxSetBytes = 256 << 10
  /// The memory of one imported key, prepared for its algorithm.
  private static let keyBytes = 4 << 10
  /// The memory of certificates and names for each byte of text, at worst.
  private static let bytesPerByteOfText = 4

  private let sets: Locked<FairCache<UInt32, Key, JWKSet>>

  package init(capacity: Int = GivenKeySets.capacity, maxBytes: Int = GivenKeySets.maxBytes) {
    sets = Locked(FairCache(capacity: capacity, maxWeight: maxBytes))
  }

  /// The number of sets that are kept.
  package var count: Int { sets.withLock { $0.count } }

  /// Returns the set that `json` describes, by the rules for sets from callers; throws its fault each time.
  package func set(_ json: JSONValue, of uid: UInt32) throws(JOSEError) -> GivenKeySet {
    let key = Key(uid: uid, digest: JWKSet.digest(of: json))
    if let known = sets.withLock({ $0[key] }) { return GivenKeySet(known, wasKept: true) }
    let set = try JWKSet(json: json, origin: .local)
    let weight = Self.weight(of: set, json)
    if weight <= Self.maxSetBytes, !set.keys.contains(where: \.material.isSecret) {
      sets.withLock { $0.set(set, for: key, of: uid, weight: weight) }
    }
    return GivenKeySet(set, wasKept: false)
  }

  private static func weight(of set: JWKSet, _ json: JSONValue) -> Int {
    let text = json.weight(upTo: maxSetBytes / bytesPerByteOfText + 1)
    return text * bytesPerByteOfText + set.keys.count * keyBytes
  }
}

/// A key set that a caller passed along.
package struct GivenKeySet: Sendable {
  /// The keys.
  package let keys: JWKSet
  /// Whether the set costs a validation no more than an issuer's own: it had been kept, and its keys are not unusually
  /// large.
  package let isCheap: Bool

  init(_ keys: JWKSet, wasKept: Bool) {
    self.keys = keys
    isCheap = wasKept && keys.keys.allSatisfy(\.isOfUsualSize)
  }
}
