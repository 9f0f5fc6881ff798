import AuthEngine
import PosternConfiguration
import PosternJSON
import PosternJSONRPC
import PosternProtocol
import PosternSupport

/// Selects the subject of a call: a session's user, or the one in the call where the decision point has no issuer.
struct DecisionSubjectChoice {
  let engine: Engine
  let context: CallContext

  /// The subject; `attributes` loses what named it.
  func subject(
    _ params: Preauthorize.Params, _ point: DecisionPoint, _ attributes: inout JSONObject
  ) async throws(RPCFault) -> Result<DecisionSubject, DecisionSubjectError> {
    guard let issuer = point.settings.issuer else { return try named(params, point, &attributes) }
    guard let named = try namedSession(params.session) else { return Self.absent(.sessionMissing()) }
    do throws(SessionError) {
      guard let handle = try await handle(named, issuer) else { return Self.absent(.sessionMissing()) }
      let session = try await engine.visibleSession(handle, context)
      // Before the issuer is looked up: the session may be another one's.
      guard session.issuer == issuer else {
        return Self.absent(.sessionMissing("the session belongs to another issuer than the decision point's"))
      }
      return subjects.subject(of: session, at: point, issuer: try context.runtime.issuerLookup(engine)(issuer))
    } catch { return .failure(try Self.absence(error)) }
  }

  /// Returns the reason why the session of `subject` is over; nil while it is there, and for a subject without one.
  func end(of subject: DecisionSubject) async throws(RPCFault) -> DecisionSubjectError? {
    do throws(SessionError) {
      return try await subjects.end(of: subject, in: context.scope)
    } catch { return try Self.absence(error) }
  }

  private var subjects: SessionSubjects { SessionSubjects(engine: engine, uid: context.uid) }

  private static func absence(_ error: SessionError) throws(RPCFault) -> DecisionSubjectError {
    guard let status = SessionSubjects.status(of: error) else { throw ErrorMap.fault(error) }
    return DecisionSubjectError(status: status)
  }

  /// A text that cannot be a handle names no session, as everywhere in decisions: they fail closed.
  private func namedSession(_ text: String?) throws(RPCFault) -> NamedSession? {
    do throws(RPCFault) {
      return try NamedSession(text, context)
    } catch {
      guard error.code == .sessionNotFound else { throw error }
      return nil
    }
  }

  private func handle(_ named: NamedSession, _ issuer: String) async throws(SessionError) -> SessionHandle? {
    if case .handle(let handle) = named { return handle }
    guard context.runtime.scope.contains(issuer: issuer) else { return nil }
    return try await engine.onlySession(of: .user, at: issuer, context)
  }

  private func named(
    _ params: Preauthorize.Params, _ point: DecisionPoint, _ attributes: inout JSONObject
  ) throws(RPCFault) -> Result<DecisionSubject, DecisionSubjectError> {
    guard params.session.map(\.isEmpty) ?? true else {
      throw .invalidParams("The decision point has no issuer: context.subject names the subject", path: "/session")
    }
    // Neither the login behind the decision point nor a subject by name is a session that the call may use.
    guard !context.selectsSessions else { return Self.absent(.sessionMissing()) }
    guard point.needsSubject else {
      return .success(DecisionSubject(id: "", uid: context.uid))
    }
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
