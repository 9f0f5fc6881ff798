import PosternSupport

/// Tokens that were found valid, so that the signature of a repeated one need not be verified again.
///
/// Bounded in entries and bytes, and shared: a verdict is everybody's, since its key is the whole question, but who had
/// most of them verified loses theirs first. Guarded by its own lock. Only valid verdicts are kept, never one that
/// rests on a shared secret.
public final class VerdictCache: Sendable {
  private typealias Tokens = FairCache<UInt32, VerdictKey, VerifiedToken>

  /// Larger ones are not kept: a few of them would push out all others.
  static let maxEntryBytes = 16 << 10
  /// What a key and its parsed claims take for each byte they were written in, at worst.
  private static let weight = 5

  private let tokens: Locked<Tokens>
  private let makeEmpty: @Sendable () -> Tokens

  /// A cache of at most `maxEntries` tokens and about `maxBytes` bytes, parsed claims included.
  public init(maxEntries: Int = 8192, maxBytes: Int = 64 << 20) {
    makeEmpty = { Tokens(capacity: maxEntries, maxWeight: maxBytes) }
    tokens = Locked(makeEmpty())
  }

  /// How many tokens are kept.
  public var count: Int { tokens.withLock { $0.count } }

  /// Forgets everything: for a changed configuration.
  public func removeAll() { tokens.withLock { $0 = makeEmpty() } }

  func token(for key: VerdictKey) -> VerifiedToken? { tokens.withLock { $0[key] } }

  func keep(_ token: VerifiedToken, for key: VerdictKey) {
    guard key.bytes.count <= Self.maxEntryBytes else { return }
    let owner = Requesting.uid ?? Requester.process.uid
    tokens.withLock { $0.set(token, for: key, of: owner, weight: key.bytes.count * Self.weight) }
  }

  func remove(_ key: VerdictKey) { tokens.withLock { $0.remove(key) } }
}
