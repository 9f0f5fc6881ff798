import PosternCrypto
import PosternSupport

/// The logout tokens that were accepted, by realm, issuer, client and `jti`, each until it expires (Back-Channel Logout
/// 1.0 section 2.6).
///
/// Bounded, in bytes too, since a digest stands for each. When it is full the realm that has most loses those that came
/// first, so that no caller's own keys bring another's token back into use. Guarded by its own lock.
public final class LogoutReplayCache: Sendable {
  /// What tells one token from another.
  struct Entry: Hashable {
    /// Short, and of the sidecar's own making.
    fileprivate let realm: String
    /// Of what callers write, who may write as much as a message holds.
    let digest: [UInt8]

    init(realm: String, issuer: String, clientID: String, identifier: String) {
      self.realm = realm
      digest = HashFunction.sha256.hash("logout", of: [realm, issuer, clientID, identifier])
    }
  }

  private let seen: Locked<FairCache<String, Entry, Timestamp>>

  /// A cache of at most `maxEntries` tokens.
  public init(maxEntries: Int = 10_000) { seen = Locked(FairCache(capacity: maxEntries)) }

  /// How many tokens are remembered.
  public var count: Int { seen.withLock { $0.count } }

  /// Remembers a token until `expiry`; false when it is remembered already.
  func admit(_ entry: Entry, until expiry: Timestamp, now: Timestamp) -> Bool {
    seen.withLock { seen in
      if let until = seen[entry], until > now { return false }
      seen.set(expiry, for: entry, of: entry.realm)
      return true
    }
  }
}
