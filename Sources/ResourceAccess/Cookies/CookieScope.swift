public import PosternSupport
public import Sessions

/// The uid and session whose cookies are sent with a request. Cookies of one scope are never sent in another.
public struct CookieScope: Sendable, Hashable, ConciseStringConvertible {
  /// The peer.
  public let uid: UInt32
  /// The session whose token is sent with the request, if one is.
  public let session: SessionHandle?
  /// Uid and session.
  public var description: String { Concise.text("cookies of uid \(uid)", session.map { "session \($0)" }) }

  /// A scope of the given parts.
  public init(uid: UInt32 = PeerID.ownUID, session: SessionHandle? = nil) {
    self.uid = uid
    self.session = session
  }
}
