package import AuthEngine
import PosternSupport

/// Why a session's user is no subject of a decision: reported as the failure of the call, not as an error.
package struct DecisionSubjectError: Error {
  /// The failure.
  package let status: Status

  /// A subject that is absent because of `status`.
  package init(status: Status) { self.status = status }
}

/// The users of one uid's sessions as subjects of decisions.
package struct SessionSubjects: Sendable {
  private let engine: PosternEngine
  private let uid: UInt32

  /// The subjects of `uid`.
  package init(engine: PosternEngine, uid: UInt32) {
    self.engine = engine
    self.uid = uid
  }

  /// The user of `session` as the subject of decisions at `point`, whose issuer is `issuer`.
  package func subject(
    of session: Session, at point: DecisionPoint, issuer: SessionIssuer
  ) -> Result<DecisionSubject, DecisionSubjectError> {
    func absent(_ status: Status) -> Result<DecisionSubject, DecisionSubjectError> {
      .failure(DecisionSubjectError(status: status))
    }
    guard session.issuer == issuer.issuer.name else {
      return absent(.sessionMissing("the session belongs to another issuer than the decision point's"))
    }
    guard !hasExpired(session) else { return absent(.sessionExpired) }
    guard let subject = session.subject, !subject.isEmpty else {
      return absent(.sessionMissing("the session has no subject"))
    }
    let access = SessionRef(handle: session.handle, uid: uid, issuer: issuer, sessions: engine.sessions)
    return .success(DecisionSubject(session, claims: point.settings.subjectClaims, through: access))
  }

  /// Returns the reason why the session of `subject` is over; nil while it is there, and for a subject without one. An
  /// end by another process is known two seconds later.
  package func end(of subject: DecisionSubject, in scope: CallScope) async throws(SessionError) -> DecisionSubjectError?
  {
    guard let session = subject.session, let handle = session.handle else { return nil }
    do throws(SessionError) {
      let found = try await engine.sessions.session(handle, in: scope)
      return hasExpired(found) ? DecisionSubjectError(status: .sessionExpired) : nil
    } catch {
      guard let status = Self.status(of: error) else { throw error }
      return DecisionSubjectError(status: status)
    }
  }

  /// The failure of a call whose session cannot be found for that reason; nil when the reason is another one.
  package static func status(of error: SessionError) -> Status? {
    switch error.kind {
    case .notFound, .issuerUnknown: .sessionMissing()
    case .expired: .sessionExpired
    default: nil
    }
  }

  private func hasExpired(_ session: Session) -> Bool {
    session.expiresAt.map { $0 <= engine.clock.wallNow } ?? false
  }
}
