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

/// A device authorization that waits for its user (RFC 8628 section 3.2).
public struct BegunDeviceAuthorization: Sendable, ConciseStringConvertible {
  /// The handle to poll with.
  public let handle: SessionHandle
  /// The code that the user types in.
  public let userCode: String
  /// Where the user types it in.
  public let verificationURI: String
  /// The same with the code in it.
  public let verificationURIComplete: String?
  /// Until when the user may decide.
  public let expiresAt: Timestamp
  /// How long to wait between two polls.
  public let interval: Duration
  /// Never the user's code.
  public var description: String { "device authorization that waits for its user, expires \(expiresAt)" }
}
