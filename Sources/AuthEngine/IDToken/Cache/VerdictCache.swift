import Support

/// Tokens that were found valid, so that the signature of a repeated one need not be verified again.
///
/// Bounded in entries and bytes; what was not used for longest goes first, in two generations. Guarded by its own lock, shared
/// freely. Only valid verdicts are kept, never one that rests on a shared secret.
public final class VerdictCache: Sendable {
  private struct Generation {
    var tokens: [VerdictKey: VerifiedToken] = [:]
    var bytes = 0
  }

  private struct State {
    var young = Generation()
    var old = Generation()
  }

  /// Larger ones are not kept: a few of them would push out everybody else's.
  static let maxEntryBytes = 16 << 10
  /// What parsed claims take beside the bytes they were written in, at worst.
  private static let claimWeight = 4

  private let state = Locked(State())
  private let entriesPerGeneration: Int
  private let bytesPerGeneration: Int

  /// A cache of at most `maxEntries` tokens and about `maxBytes` bytes, parsed claims included.
  public init(maxEntries: Int = 8192, maxBytes: Int = 64 << 20) {
    entriesPerGeneration = max(1, maxEntries / 2)
    bytesPerGeneration = max(1, maxBytes / 2)
  }

  /// How many tokens are kept.
  public var count: Int {
    state.withLock { state in
      state.young.tokens.count + state.old.tokens.keys.count { state.young.tokens[$0] == nil }
    }
  }

  /// Forgets everything: for a changed configuration.
  public func removeAll() { state.withLock { $0 = State() } }

  func token(for key: VerdictKey) -> VerifiedToken? {
    state.withLock { state in
      if let token = state.young.tokens[key] { return token }
      guard let token = state.old.tokens[key] else { return nil }
      insert(token, for: key, into: &state)
      return token
    }
  }

  func keep(_ token: VerifiedToken, for key: VerdictKey) {
    guard key.bytes.count <= Self.maxEntryBytes else { return }
    state.withLock { insert(token, for: key, into: &$0) }
  }

  func remove(_ key: VerdictKey) {
    state.withLock { state in
      if state.young.tokens.removeValue(forKey: key) != nil { state.young.bytes -= weight(key) }
      if state.old.tokens.removeValue(forKey: key) != nil { state.old.bytes -= weight(key) }
    }
  }

  private func weight(_ key: VerdictKey) -> Int { key.bytes.count * (1 + Self.claimWeight) }

  private func insert(_ token: VerifiedToken, for key: VerdictKey, into state: inout State) {
    if state.young.tokens.updateValue(token, forKey: key) == nil { state.young.bytes += weight(key) }
    if state.young.tokens.count > entriesPerGeneration || state.young.bytes > bytesPerGeneration {
      state.young.tokens[key] = nil
      state.old = state.young
      state.young = Generation(tokens: [key: token], bytes: weight(key))
    }
  }
}
