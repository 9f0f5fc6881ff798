import AuthEngine
import HTTPMessages
import PosternConfiguration
import PosternSupport

/// The engine with the configuration that is in force, for the calls of one uid.
final class RunningEngine: Sendable {
  let engine: PosternEngine
  let uid: UInt32
  /// The calls of the program.
  var scope: CallScope { CallScope(uid: uid) }
  private let current: Locked<ConfiguredEngine>

  init(_ engine: PosternEngine, _ values: ConfiguredEngine, uid: UInt32) {
    self.engine = engine
    self.uid = uid
    current = Locked(values)
  }

  /// The values of the configuration as it is now.
  var values: ConfiguredEngine { current.withLock { $0 } }

  /// Replaces the configuration; calls that run end on the one that they started with.
  func replace(by values: ConfiguredEngine) { current.withLock { $0 = values } }

  // MARK: Issuers

  /// The issuer of that configured name, with the source of its keys: both of one configuration.
  func issuer(_ name: String) throws(SessionError) -> (values: ConfiguredIssuer, keys: RemoteJWKSet) {
    let values = values
    let issuer = try Self.issuer(name, in: values)
    return (issuer, values.keys(of: issuer, in: engine.keySets))
  }

  /// The issuer of that name as sessions need it.
  @Sendable func sessionIssuer(_ name: String) throws(SessionError) -> SessionIssuer {
    let values = values
    return try values.sessionIssuer(Self.issuer(name, in: values), keysIn: engine.keySets)
  }

  private static func issuer(
    _ name: String, in values: ConfiguredEngine
  ) throws(SessionError) -> ConfiguredIssuer {
    guard let issuer = values.issuers[name] else {
      throw .issuerUnknown(
        Suggestion.appended(
          to: "no issuer of that name is configured", for: name, among: AnySequence(values.issuers.keys)))
    }
    return issuer
  }

  /// The name of the issuer that is meant: the given one, or the only one with a client.
  func issuerName(_ given: String?) throws(SessionError) -> String {
    if let given { return given }
    let names = values.issuers.filter { $0.value.clientID != nil }.keys
    guard let only = names.first, names.count == 1 else {
      throw .issuerUnknown(
        names.isEmpty ? "no issuer with clientId is configured" : "several issuers are configured: name one")
    }
    return only
  }

  /// The client that tokens of the issuer are for.
  func clientID(of issuer: ConfiguredIssuer) throws(SessionError) -> String {
    guard let clientID = issuer.clientID else {
      throw .grantNotSupported("the issuer is configured without clientId: pass the expectations")
    }
    return clientID
  }

  // MARK: Resources

  /// The configured resource server of that name; nil: the only one.
  func server(_ name: String? = nil) throws(ResourceError) -> ResourceServer {
    let values = values
    let names = Array(values.resourceNames)
    guard let name = name ?? (names.count == 1 ? names.first : nil) else {
      throw ResourceError(
        .invalidParams, names.isEmpty ? "no resource is configured" : "several resources are configured: name one",
        path: ["resource"])
    }
    guard var server = values.server(name) else {
      throw ResourceError(
        .invalidParams, Suggestion.appended(to: "no such resource is configured", for: name, among: names),
        path: ["resource"])
    }
    // The single sign-on cookie is the engine's to send, never a caller's.
    if let manager = server.issuer.flatMap({ values.issuers[$0.name]?.accessManager }),
      let cookie = engine.sessions.cookieName(of: manager)
    {
      server = server.restricting(cookie: cookie, allowsHeaders: true)
    }
    return server
  }

  /// The issuer of a resource's tokens.
  func sessionIssuer(of server: ResourceServer) throws(ResourceError) -> SessionIssuer {
    guard let issuer = server.issuer else {
      throw ResourceError(.invalidParams, "the resource is configured without an issuer", path: ["resource"])
    }
    do throws(SessionError) {
      return try sessionIssuer(issuer.name)
    } catch {
      throw ResourceError(.invalidParams, error.detail, path: ["resource"])
    }
  }

  // MARK: Subjects

  /// The subject of decisions at `point`: the user of the session, or the given one where the point has no issuer.
  /// A subject and a session that do not belong there are a failure: the decision would be about another user.
  func subject(
    _ given: DecisionSubject?, _ session: SessionHandle?, at point: DecisionPoint
  ) async throws(SessionError) -> Result<DecisionSubject, DecisionSubjectError> {
    func absent(_ details: String?) -> Result<DecisionSubject, DecisionSubjectError> {
      .failure(DecisionSubjectError(status: .sessionMissing(details)))
    }
    guard let issuer = point.settings.issuer else {
      guard session == nil else { return absent("the decision point has no issuer: pass a subject, and no session") }
      guard let given, !given.id.isEmpty || !point.needsSubject else {
        return point.needsSubject
          ? absent("the decision point has no issuer: pass a subject") : .success(DecisionSubject(id: "", uid: uid))
      }
      // Decisions belong to the uid of the calls, so that they are found when they are invalidated.
      return .success(
        given.session == nil
          ? DecisionSubject(type: given.type, id: given.id, properties: given.properties, uid: uid) : given)
    }
    guard given == nil else { return absent("the decision point has an issuer: pass a session, and no subject") }
    guard let session else { return absent(nil) }
    return SessionSubjects(engine: engine, uid: uid).subject(
      of: try await engine.sessions.session(session, in: scope), at: point, issuer: try sessionIssuer(issuer))
  }
}
