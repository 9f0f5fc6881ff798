/// The step that the authorization endpoint requires before it issues a code, as for a client that is configured with
/// a tree of its own.
enum ClientTree: String, Sendable, CaseIterable {
  /// A transaction for each authorization.
  case transaction
  /// The tree `ConfirmPassword`, by a session that has not gone through it.
  case service
  /// A transaction, and another one after it, whatever was confirmed.
  case again
  /// As `transaction`, by a redirect to another server.
  case foreignLogin
  /// As `transaction`, with a `goto` to another server.
  case foreignGoto
  /// As `transaction`, with a `goto` to the authorization of another client.
  case otherGoto
  /// As `transaction`, with a `goto` to another endpoint.
  case otherPath

  /// The tree that a session must have gone through.
  static let tree = "ConfirmPassword"
}
