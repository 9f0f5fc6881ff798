public import PosternSupport

/// An authorization that waits for its user.
public struct BegunAuthorization: Sendable, ConciseStringConvertible {
  /// Where to send the user's browser.
  public let url: String
  /// The `state`, by which the callback is recognised.
  public let state: String
  /// Until when the callback is taken.
  public let expiresAt: Timestamp
  /// Never the URL and its `state`.
  public var description: String { "authorization that waits for its user, expires \(expiresAt)" }
}
