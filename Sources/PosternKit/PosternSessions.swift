public import AuthEngine
import LoopbackLogin
import PosternConfiguration
public import PosternSupport

/// Logins and sessions of this program's users. A session is named by its handle; no method returns a token.
public struct PosternSessions: Sendable {
  let running: RunningEngine

  private var engine: PosternEngine { running.engine }
  private var uid: UInt32 { running.uid }

  // MARK: Login

  /// Creates a session from `grant`, at the issuer of that configured name (nil: the only one with a client).
  public func create(
    from grant: SessionGrant, at issuer: String? = nil, scope: String? = nil
  ) async throws(SessionError) -> Session {
    try await engine.sessions.create(
      from: grant, at: running.sessionIssuer(running.issuerName(issuer)), scope: scope, in: running.scope)
  }

  /// Logs a user of this machine in: opens the browser at the issuer, waits for it to come back to a loopback address
  /// (RFC 8252), and returns the session.
  ///
  /// The redirect URI is the issuer's `redirectUri`, if that is a loopback address, otherwise
  /// `http://127.0.0.1:PORT/callback`, which must be registered at the issuer for any port.
  ///
  /// - Parameters:
  ///   - issuer: The issuer's name in the configuration; nil: the only one with a client.
  ///   - scope: The scope; nil: the issuer's, and those of its users' resources.
  ///   - timeout: How long to wait for the user.
  ///   - open: Shows the URL to the user; by default in the desktop's browser, where there is one.
  public func login(
    at issuer: String? = nil, scope: String? = nil, timeout: Duration = .seconds(300),
    open: @escaping @Sendable (_ url: String) -> Void = PosternSessions.openBrowser
  ) async throws(SessionError) -> Session {
    let name = try running.issuerName(issuer)
    let configured = try running.sessionIssuer(name).redirectURI.flatMap { LoopbackRedirect($0) }
    let browser = try BrowserLogin(at: configured ?? LoopbackRedirect(port: 0))
    let begun = try await beginAuthorization(at: name, redirectURI: browser.redirectURI, scope: scope)
    open(begun.url)
    return try await browser.result(
      by: Deadline(in: timeout, on: SystemClock()), failing: { $0 }, isStray: BrowserLogin.isStray
    ) { (url) async throws(SessionError) in
      // Of this login: an earlier one at the same redirect URI may still be under way in another window.
      guard LoopbackRedirect.state(in: url) == begun.state else { throw SessionError.authorizationUnknown }
      return try await completeAuthorization(callback: url, state: begun.state)
    }
  }

  /// Opens `url` in the desktop's browser; where there is no desktop nothing happens.
  public static let openBrowser: @Sendable (_ url: String) -> Void = { Browser.open($0) }

  /// Begins a login in a browser: send the user to the result's `url`, and pass the URL that the browser comes back to
  /// `completeAuthorization`. A program on the user's machine has `login(at:)`.
  ///
  /// - Parameters:
  ///   - issuer: The issuer's name in the configuration; nil: the only one with a client.
  ///   - redirectURI: Where the browser comes back to; nil: the issuer's `redirectUri`.
  ///   - scope: The scope; nil: the issuer's, and those of its users' resources.
  ///   - customize: Sets further parameters of the request.
  public func beginAuthorization(
    at issuer: String? = nil, redirectURI: String? = nil, scope: String? = nil,
    customize: (inout AuthorizationRequest) -> Void = { _ in }
  ) async throws(SessionError) -> BegunAuthorization {
    let name = try running.issuerName(issuer)
    let issuer = try running.sessionIssuer(name)
    guard let redirectURI = redirectURI ?? issuer.redirectURI else {
      throw .invalid("redirectURI is needed: the issuer is configured without one", path: ["redirectURI"])
    }
    var request = AuthorizationRequest(redirectURI: redirectURI)
    request.scope = scope ?? running.values.loginScope(of: name)
    customize(&request)
    return try await engine.sessions.beginAuthorization(request, at: issuer, in: running.scope)
  }

  /// The session of a login whose browser has come back to `url`. A URL counts once.
  ///
  /// `state` is what the browser that sends the callback has kept since its login began (`BegunAuthorization.state`), in
  /// a cookie of its own: a callback with another state began in another browser, and uses nothing up. `earlier` is the
  /// session that this browser had before, if any: it is replaced.
  public func completeAuthorization(
    callback url: String, state: String, replacing earlier: SessionHandle? = nil
  ) async throws(SessionError) -> Session {
    try await engine.sessions.completeAuthorization(
      callback: url, state: state, replacing: earlier, issuer: running.sessionIssuer, in: running.scope)
  }

  /// Begins a login on another device (RFC 8628): show the user the result's `userCode` and `verificationURI`.
  public func beginDeviceAuthorization(
    at issuer: String? = nil, scope: String? = nil
  ) async throws(SessionError) -> BegunDeviceAuthorization {
    let name = try running.issuerName(issuer)
    return try await engine.sessions.beginDeviceAuthorization(
      at: running.sessionIssuer(name), scope: scope ?? running.values.loginScope(of: name), in: running.scope)
  }

  /// Waits until the user has decided on the other device, and returns the session.
  public func completeDeviceAuthorization(
    _ begun: BegunDeviceAuthorization
  ) async throws(SessionError) -> Session {
    while true {
      do throws(SessionError) {
        return try await engine.sessions.completeDeviceAuthorization(
          begun.handle, issuer: running.sessionIssuer, in: running.scope)
      } catch {
        guard case .pending = error.kind else { throw error }
        guard (try? await engine.clock.sleep(for: begun.interval)) != nil else {
          throw SessionError(.cancelled, "cancelled while the user decides")
        }
      }
    }
  }

  // MARK: Sessions

  /// The sessions, the oldest first.
  public func all() async throws(SessionError) -> [Session] {
    var sessions: [Session] = []
    try await engine.sessions.forEachSession(in: running.scope) { session, _ in
      sessions.append(session)
      return true
    }
    return sessions
  }

  /// The session of that handle.
  public func session(_ handle: SessionHandle) async throws(SessionError) -> Session {
    try await engine.sessions.session(handle, in: running.scope)
  }

  /// The only live session of that kind at a configured issuer (nil: the only issuer with a client), for programs whose
  /// uid is the user; nil when nobody is logged in.
  ///
  /// - Throws: `SessionError` when there are several.
  public func only(
    _ kind: SessionKind = .user, at issuer: String? = nil
  ) async throws(SessionError) -> SessionHandle? {
    try await engine.sessions.onlySession(of: kind, at: running.issuerName(issuer), in: running.scope)
  }

  /// Refreshes a session's token now, whatever is left of its life.
  @discardableResult
  public func refresh(_ handle: SessionHandle) async throws(SessionError) -> Session {
    try await engine.sessions.refresh(
      handle, at: running.sessionIssuer(try await session(handle).issuer), in: running.scope)
  }

  /// Ends a session: here at once, whatever the network does, then at its issuer.
  @discardableResult
  public func end(_ handle: SessionHandle) async throws(SessionError) -> UserSessions.UpstreamEnd {
    // A session that cannot be read is ended here all the same.
    let session = try? await engine.sessions.session(handle, in: running.scope)
    return try await engine.sessions.end(
      handle, at: session.flatMap { try? running.sessionIssuer($0.issuer) }, in: running.scope)
  }
}

extension PosternSessions: ConciseStringConvertible {}
