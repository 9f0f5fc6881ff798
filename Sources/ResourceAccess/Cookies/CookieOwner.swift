public import Sessions

/// Whose cookies go along with a request. One owner's never go with another's.
public struct CookieOwner: Sendable, Hashable {
  /// The peer.
  public let uid: UInt32
  /// The session whose token goes along, if one does.
  public let session: SessionHandle?

  /// An owner of the given parts.
  public init(uid: UInt32, session: SessionHandle? = nil) {
    self.uid = uid
    self.session = session
  }
}
