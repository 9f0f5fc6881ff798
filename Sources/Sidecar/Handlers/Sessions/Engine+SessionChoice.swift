import AuthEngine
import PosternJSON
import PosternJSONRPC
import PosternProtocol
import PosternSupport
import SidecarAccess
import SidecarCalls
import SidecarEngine

extension Engine {
  /// The session a call means: the one it names, or the only one of that kind the peer has at `issuer`. Nil when it has
  /// none.
  func session(
    _ handle: String?, _ kind: SessionKind, _ issuer: Issuer?, _ context: CallContext
  ) async throws(RPCFault) -> FetchSession? {
    guard let issuer else { return nil }
    let given = try handle.map { text throws(RPCFault) in try SessionHandle.given(text) }
    let scope = context.runtime.scope
    if let given, scope.issuers != nil || context.selectsSessions {
      do throws(SessionError) {
        _ = try await visibleSession(given, context)
      } catch {
        throw ErrorMap.fault(error)
      }
    }
    // The resource may be used; sessions at its issuer are hidden from this peer.
    guard scope.contains(issuer: issuer.name) else { return nil }
    let sessionIssuer = try context.runtime.sessionIssuer(issuer.name, self)
    if let given {
      return FetchSession(handle: given, uid: context.uid, issuer: sessionIssuer, sessions: sessions)
    }
    do throws(SessionError) {
      let only = try await onlySession(of: kind, at: issuer.name, context)
      return only.map {
        FetchSession(handle: $0, uid: context.uid, issuer: sessionIssuer, sessions: sessions)
      }
    } catch {
      throw ErrorMap.fault(error)
    }
  }

  /// Rejects a session where none is used: with client credentials, or without a token. An unknown session is reported
  /// as unknown there, too.
  func rejectSession(_ text: String?, _ context: CallContext) async throws(RPCFault) {
    guard let text else { return }
    let handle = try SessionHandle.given(text)
    do throws(SessionError) {
      _ = try await visibleSession(handle, context)
    } catch {
      throw ErrorMap.fault(error)
    }
    throw .invalidParams("A session goes with auth user or implicit", path: "/session")
  }
}

extension Engine {
  /// The error of a call. If the access manager requires the user to do something first, it contains a continuation:
  /// for `session`, or for the session that was to be created.
  func fault(
    _ error: SessionError, at issuer: SessionIssuer, of session: SessionHandle?, path: String = "",
    _ context: CallContext
  ) async -> RPCFault {
    var fault = ErrorMap.fault(error, path: path)
    guard case .adviceRequired(let pending) = error.kind,
      let request = Self.request(pending, session),
      let step = try? await journeys.hold(request, at: issuer, ownedBy: context.uid)
    else { return fault }
    context.note(begun: step.continuation)
    fault.data["continuation"] = .string(step.continuation)
    fault.data["expiresAt"] = .string(step.expiresAt.rfc3339)
    return fault
  }

  private static func request(_ pending: SuspendedAuthorization, _ session: SessionHandle?) -> JourneyRequest? {
    guard let session else { return .signOn(pending) }
    return .stepUp(session, advices: pending.advices)
  }
}

extension CallContext {
  /// Whether the caller can continue the fetch that is suspended under that name: it was begun through the same
  /// endpoint, and nothing of it is hidden.
  func shows(_ fetch: SuspendedFetches.Fetch, _ name: String) -> Bool { began(name) && runtime.shows(fetch) }
}

extension VisibleConfiguration {
  /// The issuer of that configured name, for sessions.
  func sessionIssuer(_ name: String, _ engine: Engine) throws(RPCFault) -> SessionIssuer {
    do throws(SessionError) {
      return try issuerLookup(engine)(name)
    } catch {
      throw ErrorMap.fault(error, path: "/issuer")
    }
  }

  /// Whether the caller can continue the suspended fetch: neither its resource nor its session's issuer is
  /// hidden.
  func shows(_ fetch: SuspendedFetches.Fetch) -> Bool {
    guard scope.contains(resource: fetch.origin.resource) else { return false }
    guard scope.issuers != nil else { return true }
    let issuer = fetch.origin.options.session?.issuer.issuer.name
    return issuer.map(scope.contains(issuer:)) ?? true
  }
}
