import OAuthClient
import PosternJSON
import PosternSupport
import SessionRecords

/// The dependencies that the parts of `UserSessions` share. Made once: one server's nonces, cookie names and times are
/// known to all parts.
struct SessionDependencies: Sendable {
  let repository: SessionRepository
  let requests: TokenRequests
  let accessManagers: AccessManagerClient
  let idTokens: IDTokenVerification
  let revocation: TokenRevocation
  let tasks: UserTasks
  let clock: any EngineClock
  let observer: (any SessionObserver)?

  /// Finds the token endpoint, so that a request cannot fail for want of it later.
  func locateTokenEndpoint(of issuer: SessionIssuer, in call: CallScope) async throws(SessionError) {
    do throws(TokenError) {
      _ = try await requests.provider.url(of: .token, at: issuer.issuer, in: call)
    } catch {
      throw SessionError(error)
    }
  }
}

/// A part of `UserSessions`.
protocol SessionPart: Sendable {
  var shared: SessionDependencies { get }
}

extension SessionPart {
  var repository: SessionRepository { shared.repository }
  var store: any RecordStore { shared.repository.store }
  var requests: TokenRequests { shared.requests }
  var accessManagers: AccessManagerClient { shared.accessManagers }
  var idTokens: IDTokenVerification { shared.idTokens }
  var revocation: TokenRevocation { shared.revocation }
  var tasks: UserTasks { shared.tasks }
  var clock: any EngineClock { shared.clock }
  var observer: (any SessionObserver)? { shared.observer }
}

extension SessionIssuer {
  /// A new DPoP key for a session, as records keep it; nil where the issuer does not bind tokens.
  func newKey() throws(SessionError) -> JSONValue? {
    guard issuer.usesDPoP else { return nil }
    do throws(TokenError) {
      return try DPoPKey.generate().recordRevealingSecret()
    } catch {
      throw SessionError(error)
    }
  }
}
