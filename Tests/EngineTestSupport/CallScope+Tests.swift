package import OAuthClient
package import PosternSupport

extension CallScope {
  /// A call of `uid`.
  package static func uid(
    _ uid: UInt32 = PeerID.ownUID, by deadline: Deadline = .never, trace: TraceContext? = nil
  ) -> CallScope {
    CallScope(peer: PeerID(uid: uid, connection: 0), deadline: deadline, trace: trace)
  }
}
