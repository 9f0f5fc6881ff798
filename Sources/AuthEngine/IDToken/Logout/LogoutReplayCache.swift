import Support

/// The logout tokens that were accepted, by realm, issuer, client and `jti`, each until it expires (Back-Channel Logout 1.0 section 2.6).
///
/// Bounded: when it is full the realm that has most loses those that came first, so that no caller's own keys bring another's token back
/// into use. Guarded by its own lock.
public final class LogoutReplayCache: Sendable {
  /// What tells one token from another.
  struct Entry: Hashable {
    fileprivate let realm: [UInt8]
    private let bytes: [[UInt8]]

    init(realm: String, issuer: String, clientID: String, identifier: String) {
      self.realm = Array(realm.utf8)
      bytes = [issuer, clientID, identifier].map { Array($0.utf8) }
    }
  }

  private let seen: Locked<FairCache<[UInt8], Entry, Timestamp>>

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
