import PosternJSON
import PosternSupport

/// The settings that can be changed while the playground runs.
final class Settings: Sendable {
  /// The values.
  struct Values: Sendable {
    /// Whether every use of a refresh token replaces it.
    var rotatesRefreshTokens: Bool
    /// Whether an answer to an unreplaced refresh token names it again.
    var repeatsRefreshTokens: Bool
    /// The time during which a replaced refresh token may be presented again, in milliseconds.
    var reuseGraceMilliseconds: Int64
    /// Whether proofs at the provider need a nonce (RFC 9449 section 8).
    var requiresProviderNonce = false
    /// Whether proofs at the resource server need a nonce (RFC 9449 section 9).
    var requiresResourceNonce = false
  }

  private let initial: Values
  private let state: Locked<Values>

  /// The settings that a playground is started with.
  init(_ configuration: PlaygroundConfiguration) {
    initial = Values(
      rotatesRefreshTokens: configuration.rotatesRefreshTokens,
      repeatsRefreshTokens: configuration.repeatsRefreshTokens,
      reuseGraceMilliseconds: configuration.reuseGrace.wholeMilliseconds)
    state = Locked(initial)
  }

  /// The current values.
  var values: Values { state.withLock { $0 } }

  /// Goes back to what the playground was started with.
  func reset() { replace(with: initial) }

  /// Replaces all values.
  func replace(with values: Values) { state.withLock { $0 = values } }
}
