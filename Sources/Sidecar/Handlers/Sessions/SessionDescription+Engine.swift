import AuthEngine
import PosternJSON
import PosternProtocol
import PosternSupport

extension SessionDescription {
  /// A session of the engine as it goes over the wire.
  init(_ session: Session) {
    self.init(
      session: session.handle.text, issuer: session.issuer, kind: session.kind,
      scope: session.scope ?? "", createdAt: session.createdAt.rfc3339)
    subject = session.subject
    expiresAt = session.expiresAt?.rfc3339
    accessTokenExpiresAt = session.accessTokenExpiresAt?.rfc3339
    claims = session.claims.map { .object($0) }
    acr = session.acr
    authTime = session.authenticatedAt?.secondsSinceEpoch
  }
}
