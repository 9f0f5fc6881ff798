import AuthEngine
import JSONRPC
import Protocol
import Support

extension Engine {
  /// The session a call means: the one it names, or the only one of that kind the peer has at `issuer`. Nil when it has none.
  func session(
    _ handle: String?, _ kind: SessionKind, _ issuer: Issuer?, _ context: CallContext
  ) async throws(RPCFault) -> FetchSession? {
    guard let issuer else { return nil }
    let sessionIssuer = try context.runtime.sessionIssuer(issuer.name, self)
    if let handle {
      return FetchSession(
        handle: try SessionHandle.given(handle), owner: context.owner, issuer: sessionIssuer, sessions: sessions)
    }
    let fitting: [Session]
    do throws(SessionError) {
      fitting = try await sessions.sessions(ownedBy: context.owner)
        .filter { $0.kind == kind && $0.issuer == issuer.name }
    } catch {
      throw ErrorMap.fault(error)
    }
    // One that has expired stands behind the login that followed it.
    let live = fitting.filter { $0.expiresAt.map { $0 > clock.wallNow } ?? true }
    guard live.count < 2 else { throw .invalidParams("This peer has several sessions: say which", path: "/session") }
    return (live.first ?? fitting.last).map {
      FetchSession(handle: $0.handle, owner: context.owner, issuer: sessionIssuer, sessions: sessions)
    }
  }
}
