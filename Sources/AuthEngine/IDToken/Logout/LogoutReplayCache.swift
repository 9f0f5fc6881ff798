import Support

/// The logout tokens that were accepted, by realm, issuer, client and `jti`, each until it expires (Back-Channel Logout 1.0 section 2.6).
///
/// Bounded: when it is full of tokens that are all still good, those that expire first make room. Guarded by its own lock.
public final class LogoutReplayCache: Sendable {
  /// What tells one token from another.
  struct Entry: Hashable {
    private let bytes: [[UInt8]]

    init(realm: String, issuer: String, clientID: String, identifier: String) {
      bytes = [realm, issuer, clientID, identifier].map { Array($0.utf8) }
    }
  }

  private let seen = Locked<[Entry: Timestamp]>([:])
  private let maxEntries: Int

  /// A cache of at most `maxEntries` tokens.
  public init(maxEntries: Int = 10_000) { self.maxEntries = max(1, maxEntries) }

  /// How many tokens are remembered.
  public var count: Int { seen.withLock { $0.count } }

  /// Remembers a token until `expiry`; false when it is remembered already.
  func admit(_ entry: Entry, until expiry: Timestamp, now: Timestamp) -> Bool {
    seen.withLock { seen in
      if let until = seen[entry], until > now { return false }
      if seen.count >= maxEntries { Self.makeRoom(in: &seen, maxEntries: maxEntries, now: now) }
      seen[entry] = expiry
      return true
    }
  }

  /// An eighth at a time, so that a full cache is not sorted for every token.
  private static func makeRoom(in seen: inout [Entry: Timestamp], maxEntries: Int, now: Timestamp) {
    seen = seen.filter { $0.value > now }
    guard seen.count >= maxEntries else { return }
    for (entry, _) in seen.sorted(by: { $0.value < $1.value }).prefix(max(1, maxEntries / 8)) { seen[entry] = nil }
  }
}
