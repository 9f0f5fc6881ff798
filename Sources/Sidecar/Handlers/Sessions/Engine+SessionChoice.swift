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
    let choice: SessionChoice
    do throws(SessionError) {
      choice = try await sessions.choice(of: kind, at: issuer.name, ownedBy: context.owner)
    } catch {
      throw ErrorMap.fault(error)
    }
    switch choice {
    case .none: return nil
    case .several: throw .invalidParams("This peer has several sessions: say which", path: "/session")
    case .one(let handle):
      return FetchSession(handle: handle, owner: context.owner, issuer: sessionIssuer, sessions: sessions)
    }
  }

  /// Refuses a session where it has no part, with tokens of the device's own or none: an unknown one is unknown all the same.
  func refuseSession(_ text: String?, _ context: CallContext) async throws(RPCFault) {
    guard let text else { return }
    let handle = try SessionHandle.given(text)
    do throws(SessionError) {
      _ = try await sessions.session(handle, ownedBy: context.owner)
    } catch {
      throw ErrorMap.fault(error)
    }
    throw .invalidParams("A session goes with auth user or implicit", path: "/session")
  }
}
