import AuthEngine
import PosternJSON
import PosternJSONRPC
import PosternProtocol
import PosternSupport
import SidecarAccess
import SidecarCalls
import SidecarEngine

/// The reason why a call has no subject: reported as its failure, not as an error.
struct DecisionSubjectError: Error {
  let status: Status
}

/// Selects the subject of a call: a session's user, or the one in the call where the decision point has no issuer.
struct DecisionSubjectChoice {
  let engine: Engine
  let context: CallContext

  /// The subject; `attributes` loses what named it.
  func subject(
    _ params: Preauthorize.Params, _ point: DecisionPoint, _ attributes: inout JSONObject
  ) async throws(RPCFault) -> Result<DecisionSubject, DecisionSubjectError> {
    guard let issuer = point.settings.issuer else { return try named(params, point, &attributes) }
    do throws(SessionError) {
      guard let handle = try await handle(params.session, issuer) else { return Self.absent(.sessionMissing()) }
      let session = try await engine.visibleSession(handle, context)
      guard session.issuer == issuer else {
        return Self.absent(.sessionMissing("the session belongs to another issuer than the decision point's"))
      }
      guard !hasExpired(session) else { return Self.absent(.sessionExpired) }
      guard let subject = session.subject, !subject.isEmpty else {
        return Self.absent(.sessionMissing("the session has no subject"))
      }
      let access = FetchSession(
        handle: handle, uid: context.uid, issuer: try context.runtime.issuerLookup(engine)(issuer),
        sessions: engine.sessions)
      return .success(DecisionSubject(session, claims: point.settings.subjectClaims, through: access))
    } catch { return .failure(try Self.absence(error)) }
  }

  /// Returns the reason why the session of `subject` is over; nil while it is there, and for a subject without one.
  /// An end by another process is known two seconds later.
  func end(of subject: DecisionSubject) async throws(RPCFault) -> DecisionSubjectError? {
    guard let session = subject.session, let handle = session.handle else { return nil }
    do throws(SessionError) {
      let found = try await engine.sessions.session(handle, ownedBy: session.uid)
      return hasExpired(found) ? DecisionSubjectError(status: .sessionExpired) : nil
    } catch { return try Self.absence(error) }
  }

  private func hasExpired(_ session: Session) -> Bool {
    session.expiresAt.map { $0 <= engine.clock.wallNow } ?? false
  }

  private static func absence(_ error: SessionError) throws(RPCFault) -> DecisionSubjectError {
    switch error.kind {
    case .notFound, .issuerUnknown: return DecisionSubjectError(status: .sessionMissing())
    case .expired: return DecisionSubjectError(status: .sessionExpired)
    default: throw ErrorMap.fault(error)
    }
  }

  private func handle(_ text: String?, _ issuer: String) async throws(SessionError) -> SessionHandle? {
    if let text { return try SessionHandle(text) }
    guard context.runtime.scope.contains(issuer: issuer) else { return nil }
    return try await engine.sessions.onlySession(of: .user, at: issuer, ownedBy: context.uid)
  }

  private func named(
    _ params: Preauthorize.Params, _ point: DecisionPoint, _ attributes: inout JSONObject
  ) throws(RPCFault) -> Result<DecisionSubject, DecisionSubjectError> {
    guard params.session == nil else {
      throw .invalidParams("The decision point has no issuer: context.subject names the subject", path: "/session")
    }
    guard point.needsSubject else { return .success(DecisionSubject(id: "", uid: context.uid)) }
    guard let given = attributes["subject"] else {
      return Self.absent(.sessionMissing("the decision point has no issuer: context.subject is needed"))
    }
    attributes["subject"] = nil
    if let id = given.stringValue, !id.isEmpty { return .success(DecisionSubject(id: id, uid: context.uid)) }
    guard let object = given.objectValue, let id = object["id"]?.stringValue, !id.isEmpty else {
      throw .invalidParams("context.subject must be an id, or an object with an id", path: "/context/subject")
    }
    func member<Value>(_ name: String, _ read: (JSONValue) -> Value?) throws(RPCFault) -> Value? {
      guard let value = object[name] else { return nil }
      guard let read = read(value) else {
        throw .invalidParams("context.subject.\(name) is of the wrong type", path: "/context/subject/\(name)")
      }
      return read
    }
    return .success(
      DecisionSubject(
        type: try member("type", \.stringValue), id: id,
        properties: try member("properties", \.objectValue) ?? JSONObject(), uid: context.uid))
  }

  private static func absent(_ status: Status) -> Result<DecisionSubject, DecisionSubjectError> {
    .failure(DecisionSubjectError(status: status))
  }
}
