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

  private let state = Locked(State())
  private let entriesPerGeneration: Int
  private let bytesPerGeneration: Int

  /// A cache of at most `maxEntries` tokens, and of at most `maxBytes` bytes of tokens and policies; the parsed claims beside
  /// them are about as large again.
  public init(maxEntries: Int = 8192, maxBytes: Int = 16 << 20) {
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
    guard key.bytes.count <= bytesPerGeneration else { return }
    state.withLock { insert(token, for: key, into: &$0) }
  }

  func remove(_ key: VerdictKey) {
    state.withLock { state in
      if state.young.tokens.removeValue(forKey: key) != nil { state.young.bytes -= key.bytes.count }
      if state.old.tokens.removeValue(forKey: key) != nil { state.old.bytes -= key.bytes.count }
    }
  }

  private func insert(_ token: VerifiedToken, for key: VerdictKey, into state: inout State) {
    if state.young.tokens.updateValue(token, forKey: key) == nil { state.young.bytes += key.bytes.count }
    if state.young.tokens.count > entriesPerGeneration || state.young.bytes > bytesPerGeneration {
      state.young.tokens[key] = nil
      state.old = state.young
      state.young = Generation(tokens: [key: token], bytes: key.bytes.count)
    }
  }
}
