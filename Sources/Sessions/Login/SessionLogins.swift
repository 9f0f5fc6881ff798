import OAuthClient
import PosternSupport
import SessionRecords

/// The ways to log in.
struct SessionLogins: Sendable {
  let creation: SessionCreation
  let code: CodeLogin
  let device: DeviceLogin
  let implicit: ImplicitLogin
  let singleSignOn: SingleSignOn

  init(_ shared: SessionDependencies, _ writer: RecordWriter) {
    creation = SessionCreation(
      shared: shared, profiles: ProfileRegistry(writer: writer, clock: shared.clock, observer: shared.observer))
    code = CodeLogin(shared: shared, creation: creation)
    device = DeviceLogin(shared: shared, creation: creation)
    implicit = ImplicitLogin(shared: shared, creation: creation)
    singleSignOn = SingleSignOn(shared: shared, creation: creation)
  }

  func create(
    from grant: SessionGrant, at issuer: SessionIssuer, scope: String?, _ origin: LoginOrigin, in call: CallScope
  ) async throws(SessionError) -> Session {
    if let token = grant.loneSSOToken {
      return try await singleSignOn.create(from: token, at: issuer, scope: scope, origin, in: call)
    }
    switch grant {
    case .implicit(let profile): return try await implicit.create(profile, at: issuer, origin, in: call)
    case .tokens(let given): return try await creation.create(from: given, at: issuer, origin, in: call)
    default:
      return try await creation.create(
        NewSession(grant: grant, issuer: issuer, scope: scope, origin: origin, call: call))
    }
  }
}
